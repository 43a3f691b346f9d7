-- Tasks $1 as they stand: what an operator sees before acting on them from the command line.
SELECT id, version, status, cancel_requested_at IS NOT NULL AND status = 'running' AS cancelling, calls, unpriced_calls,
       cost / greatest(1, failed_runs + (status IN ('running', 'completed'))::integer) AS cost
FROM crewtop.tasks WHERE id = ANY ($1::bigint[]) ORDER BY id
