-- Write steps as they start and as they end, under the fence: a run that lost its lease adds none.
INSERT INTO crewtop.steps AS s
    (run_id, position, task_id, name, agent, description, status, output, error, started_at, seconds, receipt)
SELECT r.run_id, r.position, r.task_id, r.name, r.agent, r.description, r.status, r.output, r.error,
       now() - make_interval(secs => r.started_ago), r.seconds, r.receipt::json
FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::text[], $10::float8[], $11::float8[], $12::text[])
     AS r (run_id, position, task_id, name, agent, description, status, output, error, started_ago, seconds, receipt)
JOIN crewtop.tasks AS t ON t.id = r.task_id AND t.id = ANY ($3) AND t.run_id = r.run_id AND t.status = 'running'
ON CONFLICT (run_id, position) DO UPDATE
SET status = excluded.status, output = excluded.output, error = excluded.error, seconds = excluded.seconds,
    receipt = excluded.receipt
WHERE s.status = 'running'
