-- Ended tasks whose end has not been counted in those that depend on them, at most $1: whoever ended them died in between.
SELECT DISTINCT d.depends_on
FROM crewtop.task_dependencies AS d LEFT JOIN crewtop.tasks AS p ON p.id = d.depends_on
WHERE NOT d.settled AND coalesce(p.status, 'deleted') IN ('completed', 'failed', 'cancelled', 'deleted')
LIMIT $1
