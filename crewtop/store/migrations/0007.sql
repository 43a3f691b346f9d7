-- From version 6 to 7: says how long rollups know of workers.

COMMENT ON COLUMN crewtop.stats.worker_id IS 'Empty in buckets of an hour, which are kept for a year, and in the sum of what is older: workers come and go.';
