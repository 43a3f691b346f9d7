-- One task as the list shows it.
SELECT now() AS at, t.id, t.queue, t.crew, t.status, t.version, t.priority, t.created_at, t.run_at, t.finished_at,
       t.failed_runs, t.max_attempts, t.tokens, t.cost, t.unpriced_calls, t.calls, t.error, t.worker_id, t.budget_seconds,
       t.cancel_requested_at IS NOT NULL AND t.status = 'running' AS cancelling,
       extract(epoch FROM now() - t.lease_expires_at)::float8 AS lease_overdue,
       r.step_position, r.step_count, r.agent, r.activity,
       extract(epoch FROM now() - r.claimed_at)::float8 AS run_age,
       extract(epoch FROM now() - r.progress_at)::float8 AS idle,
       t.key, t.key_scope, t.parent_id, t.rerun_of, t.schedule,
       left(t.inputs::text, $2) AS inputs, octet_length(t.inputs::text) AS inputs_size
FROM crewtop.tasks AS t LEFT JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
WHERE t.id = $1
