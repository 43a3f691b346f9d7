-- Where runs are: step, agent, what they are doing, and the progress clock.
UPDATE crewtop.runs AS r
SET step_position = coalesce(p.step_position, r.step_position), step_count = coalesce(p.step_count, r.step_count),
    agent = coalesce(p.agent, r.agent), activity = p.activity, progress_at = now() - make_interval(secs => p.ago)
FROM unnest($1::bigint[], $2::smallint[], $3::smallint[], $4::text[], $5::text[], $6::float8[])
     AS p (run_id, step_position, step_count, agent, activity, ago)
WHERE r.id = p.run_id AND r.id = ANY ($1) AND r.outcome = 'running'
