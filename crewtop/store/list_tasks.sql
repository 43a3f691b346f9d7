-- The task list: never a body, only what a line shows. $1 statuses, $2 crews, $3 queues, $4 priority, $5 text (NULL: any).
SELECT now() AS at, t.id, t.queue, t.crew, t.status, t.version, t.priority, t.created_at, t.run_at, t.finished_at,
       t.failed_runs, t.max_attempts, t.tokens, t.cost, t.unpriced_calls, t.calls, t.error, t.worker_id, t.budget_seconds,
       t.cancel_requested_at IS NOT NULL AND t.status = 'running' AS cancelling,
       extract(epoch FROM now() - t.lease_expires_at)::float8 AS lease_overdue,
       r.step_position, r.step_count, r.agent, r.activity,
       extract(epoch FROM now() - r.claimed_at)::float8 AS run_age,
       extract(epoch FROM now() - r.progress_at)::float8 AS idle
FROM crewtop.tasks AS t LEFT JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
LEFT JOIN crewtop.queues AS q ON q.name = t.queue
WHERE ($1::text[] IS NULL OR t.status = ANY ($1))
  AND ($2::text[] IS NULL OR t.crew = ANY ($2))
  AND ($3::text[] IS NULL OR t.queue = ANY ($3))
  AND ($4::smallint IS NULL OR t.priority = $4)
  AND ($5::text IS NULL OR strpos(lower(concat_ws(' ', t.crew, t.error, t.id)), lower($5)) > 0)
ORDER BY /* order */
LIMIT $6
