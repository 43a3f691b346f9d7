-- The task list: never a body, only what a line shows. At most $1 tasks; what else is asked for takes the marks' place.
-- They are chosen before their runs are looked up, so that an order over a million tasks joins no million runs.
WITH page AS MATERIALIZED (
    SELECT t.id, t.queue, t.crew, t.status, t.version, t.priority, t.created_at, t.run_at, t.finished_at, t.run_id,
           t.failed_runs, t.max_attempts, t.tokens, t.cost, t.unpriced_calls, t.calls, t.error, t.worker_id,
           t.budget_seconds, t.cancel_requested_at, t.lease_expires_at
    FROM crewtop.tasks AS t LEFT JOIN crewtop.queues AS q ON q.name = t.queue
    WHERE /* where */
    ORDER BY /* order */
    LIMIT $1
), numbered AS (
    SELECT *, row_number() OVER () AS place FROM page
)
SELECT now() AS at, t.id, t.queue, t.crew, t.status, t.version, t.priority, t.created_at, t.run_at, t.finished_at,
       t.failed_runs, t.max_attempts, t.tokens, t.cost, t.unpriced_calls, t.calls, t.error, t.worker_id, t.budget_seconds,
       t.cancel_requested_at IS NOT NULL AND t.status = 'running' AS cancelling,
       extract(epoch FROM now() - t.lease_expires_at)::float8 AS lease_overdue,
       r.step_position, r.step_count, r.agent, r.activity,
       extract(epoch FROM now() - r.claimed_at)::float8 AS run_age,
       extract(epoch FROM now() - r.progress_at)::float8 AS idle
FROM numbered AS t LEFT JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
ORDER BY t.place
