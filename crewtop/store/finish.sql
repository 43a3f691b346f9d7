-- Record how runs ended, in one statement for a batch. The fence: a task still running under this very run_id.
-- What has lost its lease is kept on the run as a late result and changes nothing else.
-- The tasks are looked up one by one by primary key before anything is updated: an UPDATE that joins on
-- status = 'running' takes the partial index on running rows instead, and was 14 times slower. For the same reason a
-- report carries its task along, found or not: joined later, a plan made for ten rows is quadratic in the batch. Every
-- other table is looked up by the batch's own ids too, which a join alone does not promise: a plan made while it was
-- small reads it whole, and is kept.
WITH report AS MATERIALIZED (
    SELECT run_id, task_id, outcome, coalesce(seconds, 0) AS seconds, result, error_type, error, traceback,
           coalesce(replaced, 0) AS replaced, log_tail, coalesce(delay, 0) AS delay, coalesce(terminal, false) AS terminal,
           throttled_by
    FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::float8[], $6::text[], $7::text[], $8::text[],
                $9::text[], $10::integer[], $11::text[], $12::float8[], $13::boolean[], $14::text[])
         AS r (run_id, task_id, outcome, seconds, result, error_type, error, traceback, replaced, log_tail, delay, terminal,
               throttled_by)
), held AS MATERIALIZED (
    SELECT r.*, t.*
    FROM report AS r LEFT JOIN LATERAL (
        SELECT id, version, queue, crew, priority, max_attempts, failed_runs, crashed_runs, interrupted_runs, cancel_requested_at,
               failed_runs + crashed_runs + lost_runs + throttled_runs + interrupted_runs + operator_runs = 0 AS first
        FROM crewtop.tasks
        WHERE id = r.task_id AND run_id = r.run_id AND status = 'running'
        FOR NO KEY UPDATE
    ) AS t ON true
), judged AS MATERIALIZED (
    SELECT h.*,
        CASE
            WHEN id IS NULL THEN NULL
            WHEN outcome = 'completed' THEN 'completed'
            WHEN outcome = 'cancelled' OR cancel_requested_at IS NOT NULL THEN 'cancelled'
            WHEN outcome = 'returned' OR (outcome = 'interrupted' AND interrupted_runs < $16) THEN 'pending'
            WHEN terminal THEN 'failed'
            WHEN outcome = 'throttled'
                THEN CASE WHEN (SELECT min(claimed_at) FROM crewtop.runs
                                WHERE task_id = h.id AND runs.outcome = 'throttled') < now() - make_interval(secs => $18)
                          THEN 'failed' ELSE 'retry' END
            WHEN outcome = 'crashed' THEN CASE WHEN crashed_runs + 1 >= $17 THEN 'failed' ELSE 'retry' END
            WHEN failed_runs + 1 >= max_attempts THEN 'failed'
            ELSE 'retry'
        END AS new_status,
        outcome IN ('failed', 'over_budget', 'stalled') OR (outcome = 'interrupted' AND interrupted_runs >= $16) AS spends
    FROM held AS h
), moved AS (
    UPDATE crewtop.tasks AS t
    SET status = j.new_status,
        version = t.version + 1,
        lease_expires_at = NULL,
        finished_at = CASE WHEN j.new_status IN ('completed', 'failed', 'cancelled') THEN now() END,
        run_at = CASE WHEN j.new_status = 'retry' THEN now() + make_interval(secs => least(j.delay, 86400)) ELSE t.run_at END,
        failed_runs = t.failed_runs + (j.spends AND j.new_status <> 'cancelled')::integer,
        crashed_runs = t.crashed_runs + (j.outcome = 'crashed')::integer,
        throttled_runs = t.throttled_runs + (j.outcome = 'throttled')::integer,
        interrupted_runs = t.interrupted_runs + (j.outcome = 'interrupted')::integer,
        operator_runs = t.operator_runs + (j.outcome = 'cancelled')::integer,
        error = CASE WHEN j.new_status = 'completed' THEN NULL
                     WHEN j.new_status = 'failed' AND j.outcome = 'crashed'
                         THEN left(format('quarantined after %s process deaths: %s', t.crashed_runs + 1, j.error), 500)
                     ELSE coalesce(left(j.error, 500), t.error) END
    FROM judged AS j
    WHERE t.id = j.id AND t.id = ANY (ARRAY(SELECT id FROM judged))
    RETURNING t.id, t.version, t.run_id, t.status
), ended AS (
    UPDATE crewtop.runs AS r
    SET outcome = CASE WHEN j.id IS NULL THEN r.outcome
                       WHEN j.new_status = 'cancelled' THEN 'cancelled' ELSE j.outcome END,
        late = j.id IS NULL,
        finished_at = coalesce(r.finished_at, now()),
        ended_version = CASE WHEN j.id IS NOT NULL THEN j.version + 1 END,
        new_status = j.new_status,
        seconds = j.seconds,
        result = j.result::json,
        error_type = coalesce(j.error_type, r.error_type),
        error = coalesce(j.error, r.error),
        traceback = j.traceback,
        replaced = j.replaced,
        log_tail = j.log_tail
    FROM judged AS j
    WHERE r.task_id = j.task_id AND r.id = j.run_id AND r.task_id = ANY ($3)
      -- A report that was taken before, by a commit whose answer got lost, is not late.
      AND (j.id IS NOT NULL OR r.outcome IN ('lost', 'superseded') AND NOT r.late)
    RETURNING r.id, r.waited_seconds
), cut_short AS (
    UPDATE crewtop.steps AS s
    SET status = 'failed', error = coalesce(left(j.error, 2000), replace(j.outcome, '_', ' '))
    FROM judged AS j
    WHERE s.run_id = j.run_id AND s.run_id = ANY ($2) AND s.status = 'running' AND j.id IS NOT NULL
), settled AS (
    UPDATE crewtop.task_dependencies AS d SET settled = true
    FROM moved AS m
    WHERE d.depends_on = m.id AND d.depends_on = ANY ($3) AND m.status = 'completed' AND NOT d.settled
      AND EXISTS (SELECT FROM crewtop.task_dependencies WHERE NOT settled)  -- asked once, where most queues have none
    RETURNING d.task_id
), waiting AS MATERIALIZED (
    -- Read after their lock is held, so that whoever ends the last of several dependencies sees that it is the last.
    SELECT t.*, s.n
    FROM (SELECT task_id, count(*) AS n FROM settled GROUP BY task_id ORDER BY task_id) AS s CROSS JOIN LATERAL (
        SELECT id, status, waiting_for FROM crewtop.tasks WHERE id = s.task_id FOR NO KEY UPDATE) AS t
), freed AS (
    UPDATE crewtop.tasks AS t
    SET waiting_for = t.waiting_for - w.n,
        status = CASE WHEN w.status = 'waiting' AND w.waiting_for = w.n THEN 'pending' ELSE t.status END,
        version = t.version + (w.status = 'waiting' AND w.waiting_for = w.n)::integer,
        run_at = CASE WHEN w.status = 'waiting' THEN greatest(t.run_at, now()) ELSE t.run_at END
    FROM waiting AS w WHERE t.id = w.id AND t.id = ANY (ARRAY(SELECT id FROM waiting))
    RETURNING t.id, t.version, t.queue, t.crew, w.status = 'waiting' AND w.waiting_for = w.n AS ready
), freed_history AS (
    INSERT INTO crewtop.transitions (task_id, version, old_status, new_status, actor, reason)
    SELECT id, version, 'waiting', 'pending', 'worker:' || $1, 'all that it depends on has ended' FROM freed WHERE ready
), held_back AS (
    -- Whoever was told to wait speaks for all tasks of its crew: they would be told the same.
    INSERT INTO crewtop.throttles AS h (crew, provider, until)
    SELECT crew, coalesce(max(throttled_by), '?'), now() + make_interval(secs => least(min(delay), 86400))
    FROM judged WHERE id IS NOT NULL AND outcome = 'throttled' GROUP BY crew
    ON CONFLICT (crew) DO UPDATE
    SET until = greatest(h.until, excluded.until), provider = excluded.provider,
        since = CASE WHEN h.until < now() THEN now() ELSE h.since END
), released AS (
    UPDATE crewtop.slots SET run_id = NULL WHERE run_id = ANY ($2) RETURNING n
), counted AS MATERIALIZED (
    SELECT j.queue, j.crew, j.new_status, j.outcome, e.waited_seconds, j.seconds,
           e.waited_seconds <= (coalesce(q.service_levels, $15::float8[]))[j.priority + 1] AS met,
           j.first  -- alone is judged against the service level; a retry waits on purpose
    FROM judged AS j JOIN ended AS e ON e.id = j.run_id JOIN crewtop.queues AS q ON q.name = j.queue
    WHERE j.id IS NOT NULL AND j.outcome <> 'returned'
), buckets AS (
    -- kind: 0 how long it waited, 1 ran and completed, 2 ran and did not.
    SELECT queue, crew, kind, crewtop.bucket(duration) AS bucket, count(*) AS n,
           count(*) FILTER (WHERE new_status = 'completed') AS completed,
           count(*) FILTER (WHERE new_status = 'failed') AS failed,
           count(*) FILTER (WHERE new_status = 'retry') AS retried,
           count(*) FILTER (WHERE first AND met) AS met,
           count(*) FILTER (WHERE first AND NOT met) AS missed
    FROM (SELECT *, 0 AS kind, waited_seconds AS duration FROM counted
          UNION ALL SELECT *, CASE WHEN outcome = 'completed' THEN 1 ELSE 2 END, seconds FROM counted) AS d
    GROUP BY 1, 2, 3, 4
), rolled AS (
    INSERT INTO crewtop.stats (queue, crew, worker_id, completed, failed, retried, met, missed, wait, run_ok, run_bad)
    SELECT queue, crew, $1,
           sum(completed) FILTER (WHERE kind = 0),
           sum(failed) FILTER (WHERE kind = 0),
           sum(retried) FILTER (WHERE kind = 0),
           sum(met) FILTER (WHERE kind = 0),
           sum(missed) FILTER (WHERE kind = 0),
           coalesce(jsonb_object_agg(bucket, n) FILTER (WHERE kind = 0), '{}'),
           coalesce(jsonb_object_agg(bucket, n) FILTER (WHERE kind = 1), '{}'),
           coalesce(jsonb_object_agg(bucket, n) FILTER (WHERE kind = 2), '{}')
    FROM buckets GROUP BY queue, crew
)
SELECT run_id, task_id, id IS NOT NULL AS accepted, new_status AS status,
       nullif(ARRAY(SELECT DISTINCT queue FROM judged WHERE id IS NOT NULL AND EXISTS (SELECT FROM released)), '{}') AS freed,
       NULL AS crew, version + 1 AS version
FROM judged
-- After the reports, what had waited for them: whoever watches is told of each.
UNION ALL SELECT NULL, id, true, 'pending', ARRAY[queue], crew, version FROM freed WHERE ready
