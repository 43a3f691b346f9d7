-- What the tasks that task $1 depends on came to: each result whole where it is at most $2 bytes.
SELECT d.name, d.depends_on AS task_id, coalesce(t.status, 'deleted') AS status, octet_length(r.result::text) AS size,
       CASE WHEN octet_length(r.result::text) <= $2 THEN r.result::text END AS result
FROM crewtop.task_dependencies AS d
LEFT JOIN crewtop.tasks AS t ON t.id = d.depends_on
LEFT JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id AND t.status = 'completed'
WHERE d.task_id = $1 ORDER BY d.name, d.depends_on
