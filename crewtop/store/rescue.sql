-- Take back tasks whose lease ran out: their worker is gone, whatever the workers table says. Any worker may do this.
-- $1: who rescues; $2: how many losses make the task fail; $3: seconds before it runs again; $4: at most so many;
-- $5: the rescuer's own runs, which it is about to extend.
WITH expired AS MATERIALIZED (
    SELECT id, run_id, worker_id, lost_runs, cancel_requested_at, now() - lease_expires_at AS overdue
    FROM crewtop.tasks
    WHERE status = 'running' AND lease_expires_at < now() AND run_id <> ALL ($5::bigint[])
    ORDER BY id LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
), judged AS (
    SELECT e.*,
        CASE WHEN cancel_requested_at IS NOT NULL THEN 'cancelled'
             WHEN lost_runs + 1 >= $2 THEN 'failed' ELSE 'retry' END AS new_status,
        format('worker %s is gone: lease expired %s s ago', worker_id, round(extract(epoch FROM overdue)::numeric, 1)) AS why
    FROM expired AS e
), moved AS (
    UPDATE crewtop.tasks AS t
    SET status = j.new_status, version = t.version + 1, lease_expires_at = NULL, lost_runs = t.lost_runs + 1,
        run_at = CASE WHEN j.new_status = 'retry' THEN now() + make_interval(secs => $3) ELSE t.run_at END,
        finished_at = CASE WHEN j.new_status <> 'retry' THEN now() END,
        error = left(j.why, 500)
    FROM judged AS j
    WHERE t.id = j.id AND t.id = ANY (ARRAY(SELECT id FROM judged))
    RETURNING t.id, t.version, t.run_id, t.status, t.queue, t.crew, j.why
), ended AS (
    UPDATE crewtop.runs AS r
    SET outcome = 'lost', finished_at = now(), error = m.why
    FROM moved AS m WHERE r.task_id = m.id AND r.id = m.run_id AND r.task_id = ANY (ARRAY(SELECT id FROM expired))
), cut_short AS (
    UPDATE crewtop.steps AS s SET status = 'failed', error = m.why
    FROM moved AS m
    WHERE s.run_id = m.run_id AND s.run_id = ANY (ARRAY(SELECT run_id FROM expired)) AND s.status = 'running'
), released AS (
    UPDATE crewtop.slots SET run_id = NULL WHERE run_id = ANY (ARRAY(SELECT run_id FROM expired))
), history AS (
    INSERT INTO crewtop.transitions (task_id, version, old_status, new_status, run_id, actor, reason)
    SELECT id, version, 'running', status, run_id, 'worker:' || $1, why FROM moved
), rolled AS (
    INSERT INTO crewtop.stats (queue, crew, worker_id, failed, retried)
    SELECT queue, crew, $1, count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'retry')
    FROM moved GROUP BY queue, crew
)
SELECT id AS task_id, run_id, status, queue, crew, why, version FROM moved
