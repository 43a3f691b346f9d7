-- From version 2 to 3: failures by what went wrong, workers' clocks and their end at an operator's word, reruns to be found.

-- First, since a heartbeat locks them in this order: workers, tasks.
ALTER TABLE crewtop.workers
    ADD COLUMN killed boolean NOT NULL DEFAULT false,
    ADD COLUMN clock_offset_seconds double precision;
COMMENT ON COLUMN crewtop.workers.killed IS 'An operator wants it to end at once: what it runs is killed and goes back to its queue.';
COMMENT ON COLUMN crewtop.workers.clock_offset_seconds IS 'The worker''s clock minus the database''s; NULL: not measured.';

CREATE FUNCTION crewtop.fingerprint(error text) RETURNS text
-- Not in SQL: that would be taken apart anew, to be inlined, in every statement that writes a task.
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    -- sha256, since a server that keeps to FIPS has no md5, and what records a failure must not fail.
    RETURN left(encode(sha256(replace(trim(regexp_replace(regexp_replace(left(error, 200),
        '"[^"]*"?|`[^`]*`?|\Y''[^'']*''?|[[:alnum:]_.:@/+-]*[0-9@][[:alnum:]_.:@/+-]*', '?', 'g'),
        '[[:space:]]+', ' ', 'g')), chr(92), '/')::bytea), 'hex'), 8);
END $$;
COMMENT ON FUNCTION crewtop.fingerprint IS
    'Eight hexadecimal digits, the same for errors whose first 200 characters differ only in quoted text, white space, and words with a digit or an @: numbers, ids, addresses.';

-- Every task is written anew, with what its error comes to, and so is every index that is there by then.
DROP INDEX crewtop.tasks_to_look_at;
ALTER TABLE crewtop.tasks ADD COLUMN failure text GENERATED ALWAYS AS (crewtop.fingerprint(error)) STORED;
COMMENT ON COLUMN crewtop.tasks.failure IS 'The same for like errors: see fingerprint.';

CREATE INDEX tasks_to_look_at ON crewtop.tasks (status, id DESC) WHERE status IN ('failed', 'cancelled', 'waiting', 'retry');
CREATE INDEX tasks_by_failure ON crewtop.tasks (failure, id DESC) WHERE status IN ('failed', 'retry');
CREATE INDEX tasks_by_rerun ON crewtop.tasks (rerun_of) WHERE rerun_of IS NOT NULL;

COMMENT ON COLUMN crewtop.stats.worker_id IS 'Empty in buckets of an hour, which are kept for ever: workers come and go.';
