-- Of the next $2 tasks after $1 that others wait for: those whose end has not been counted, since whoever ended them died in
-- between; and the last one that was looked at (NULL: there are no more).
WITH looked_at AS MATERIALIZED (
    SELECT DISTINCT depends_on FROM (
        SELECT depends_on FROM crewtop.task_dependencies WHERE NOT settled AND depends_on > $1
        ORDER BY depends_on LIMIT $2) AS d
)
SELECT (SELECT max(depends_on) FROM looked_at) AS place, ARRAY(
    SELECT s.depends_on FROM looked_at AS s LEFT JOIN LATERAL (SELECT status FROM crewtop.tasks WHERE id = s.depends_on) AS t ON true
    WHERE coalesce(t.status, 'deleted') IN ('completed', 'failed', 'cancelled', 'deleted') ORDER BY 1) AS ended
