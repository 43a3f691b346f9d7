-- Hand up to $4 ready tasks to worker $1: of queues $2 (NULL: every queue) and crews $3, for a lease of $5 seconds.
-- Strictly by priority, then by due time; queues share one priority evenly. One probe of tasks_ready for each queue
-- and priority, so that a million tasks that are not due yet or not urgent cost nothing. Tasks of crews that this
-- worker does not have are read over on the way: a long row of them at the head of a queue makes its claims slower.
WITH lane AS (
    SELECT q.name AS queue, p.priority
    FROM crewtop.queues AS q CROSS JOIN generate_series(0, 4) AS p (priority)
    WHERE q.paused_at IS NULL AND ($2::text[] IS NULL OR q.name = ANY ($2))
    ORDER BY p.priority, random()
), picked AS MATERIALIZED (
    SELECT t.id, t.status, t.run_id
    FROM lane CROSS JOIN LATERAL (
        SELECT id, status, run_id
        FROM crewtop.tasks
        WHERE queue = lane.queue AND priority = lane.priority
          AND status IN ('pending', 'retry') AND run_at <= now() AND crew = ANY ($3::text[])
        ORDER BY run_at, id
        LIMIT $4
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS t
    LIMIT $4
), claimed AS (
    UPDATE crewtop.tasks AS t
    SET status = 'running', version = version + 1, worker_id = $1, run_id = nextval('crewtop.runs_id_seq'),
        lease_expires_at = now() + make_interval(secs => $5), cancel_requested_at = NULL
    WHERE t.id = ANY (ARRAY(SELECT id FROM picked))
    RETURNING t.*
), run AS (
    INSERT INTO crewtop.runs (id, task_id, worker_id, waited_seconds)
    -- A task that was handed back keeps its place by its old run_at, but has waited since its last run only.
    SELECT c.run_id, c.id, $1, greatest(0, extract(epoch FROM now() - greatest(
               c.run_at, (SELECT finished_at FROM crewtop.runs WHERE id = p.run_id))))
    FROM claimed AS c JOIN picked AS p USING (id)
), history AS (
    INSERT INTO crewtop.task_history (task_id, version, old_status, new_status, run_id, actor)
    SELECT c.id, c.version, p.status, c.status, c.run_id, 'worker:' || $1
    FROM claimed AS c JOIN picked AS p USING (id)
)
SELECT id AS task_id, run_id, queue, crew, priority, inputs::text, failed_runs AS failures,
       failed_runs + crashed_runs + throttled_runs AS retries, max_attempts, budget_seconds,
       crashed_runs AS crashes
FROM claimed ORDER BY priority, run_at, id
