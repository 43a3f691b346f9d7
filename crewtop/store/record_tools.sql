-- Write uses of tools as they start and as they end, under the fence: a run that lost its lease adds none.
INSERT INTO crewtop.tool_uses AS u
    (run_id, number, task_id, step_position, tool, outcome, error, started_at, seconds)
SELECT r.run_id, r.number, r.task_id, r.step_position, r.tool, r.outcome, r.error,
       now() - make_interval(secs => r.started_ago), r.seconds
FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::smallint[], $5::text[], $6::text[], $7::text[],
            $8::float8[], $9::float8[])
     AS r (run_id, number, task_id, step_position, tool, outcome, error, started_ago, seconds)
JOIN crewtop.tasks AS t ON t.id = r.task_id AND t.id = ANY ($3) AND t.run_id = r.run_id AND t.status = 'running'
ON CONFLICT (run_id, number) DO UPDATE
SET outcome = excluded.outcome, error = excluded.error, seconds = excluded.seconds
WHERE u.outcome = 'started'
