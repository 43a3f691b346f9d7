-- The steps of all runs of task $1, with the first $2 characters of each output.
SELECT s.run_id, s.position, s.name, s.agent, left(s.description, $2) AS description, s.status,
       left(o.output, $2) AS output, octet_length(o.output) AS output_size, s.error, s.started_at, s.seconds,
       s.resumed_from
FROM crewtop.runs AS r JOIN crewtop.steps AS s ON s.run_id = r.id
JOIN crewtop.steps AS o ON o.run_id = coalesce(s.resumed_from, s.run_id) AND o.position = s.position
WHERE r.task_id = $1 ORDER BY s.run_id, s.position LIMIT 1000
