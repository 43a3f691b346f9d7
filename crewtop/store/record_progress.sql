-- Where runs are: step, agent, what they are doing, and the progress clock. A run that somebody has locked is skipped:
-- the next news of it comes soon, and waiting in another order than an operator's action would be a deadlock.
WITH free AS MATERIALIZED (
    SELECT id FROM crewtop.runs WHERE id = ANY ($1::bigint[]) AND outcome = 'running'
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE crewtop.runs AS r
SET step_position = coalesce(p.step_position, r.step_position), step_count = coalesce(p.step_count, r.step_count),
    agent = coalesce(p.agent, r.agent), activity = p.activity, progress_at = now() - make_interval(secs => p.ago)
FROM unnest($1::bigint[], $2::smallint[], $3::smallint[], $4::text[], $5::text[], $6::float8[])
     AS p (run_id, step_position, step_count, agent, activity, ago)
WHERE r.id = p.run_id AND r.id = ANY (ARRAY(SELECT id FROM free))
