-- How task $1 ended: the result of its last run, or its error.
SELECT t.version, t.status, t.error, CASE WHEN t.status = 'completed' THEN r.result::text END AS result, r.error AS run_error
FROM crewtop.tasks AS t LEFT JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
WHERE t.id = $1
