-- The tasks that task $1 depends on, those that depend on it, those that it fanned out and those that were run again in its
-- place, with how they stand; $2 of each at most.
(SELECT 'depends_on' AS tie, d.name, d.depends_on AS task_id, coalesce(t.status, 'deleted') AS status
 FROM crewtop.task_dependencies AS d LEFT JOIN crewtop.tasks AS t ON t.id = d.depends_on
 WHERE d.task_id = $1 ORDER BY d.depends_on, d.name LIMIT $2)
UNION ALL
(SELECT 'needed_by', d.name, d.task_id, coalesce(t.status, 'deleted')
 FROM crewtop.task_dependencies AS d LEFT JOIN crewtop.tasks AS t ON t.id = d.task_id
 WHERE d.depends_on = $1 ORDER BY d.task_id LIMIT $2)
UNION ALL
(SELECT 'child', crew, id, status FROM crewtop.tasks WHERE parent_id = $1 ORDER BY id LIMIT $2)
UNION ALL
(SELECT 'rerun', crew, id, status FROM crewtop.tasks WHERE rerun_of = $1 ORDER BY id LIMIT $2)
