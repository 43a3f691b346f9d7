-- Where runs are: step, agent, what they are doing, and the progress clock. A run that somebody has locked is skipped:
-- the next news of it comes soon, and waiting in another order than an operator's action would be a deadlock.
WITH news AS MATERIALIZED (
    SELECT p.*
    FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::text[], $6::text[], $7::float8[])
         AS p (run_id, task_id, step_position, step_count, agent, activity, ago)
    CROSS JOIN LATERAL (
        SELECT FROM crewtop.runs WHERE task_id = p.task_id AND id = p.run_id AND outcome = 'running'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS free
)
UPDATE crewtop.runs AS r
SET step_position = coalesce(n.step_position, r.step_position), step_count = coalesce(n.step_count, r.step_count),
    agent = coalesce(n.agent, r.agent), activity = n.activity, progress_at = now() - make_interval(secs => n.ago)
FROM news AS n WHERE r.task_id = n.task_id AND r.id = n.run_id AND r.task_id = ANY ($2)
