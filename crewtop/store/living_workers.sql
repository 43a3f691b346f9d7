-- How many workers have not ended and were heard of within their lease.
SELECT count(*) AS n FROM crewtop.workers
WHERE stopped_at IS NULL AND heartbeat_at > now() - make_interval(secs => lease_seconds)
