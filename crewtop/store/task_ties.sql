-- The tasks that task $1 depends on, and those that depend on it, with how they stand; $2 of each at most.
(SELECT true AS needs, d.name, d.depends_on AS task_id, coalesce(t.status, 'deleted') AS status
 FROM crewtop.task_dependencies AS d LEFT JOIN crewtop.tasks AS t ON t.id = d.depends_on
 WHERE d.task_id = $1 ORDER BY d.depends_on, d.name LIMIT $2)
UNION ALL
(SELECT false, d.name, d.task_id, coalesce(t.status, 'deleted')
 FROM crewtop.task_dependencies AS d LEFT JOIN crewtop.tasks AS t ON t.id = d.task_id
 WHERE d.depends_on = $1 ORDER BY d.task_id LIMIT $2)
