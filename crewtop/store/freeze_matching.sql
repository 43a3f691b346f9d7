-- Record an operation: action $3 with argument $4, by $5, for reason $6, typed as $7, over the tasks of statuses $1 that
-- match a filter (the where mark), as they stand now if they have stood so since $2 (NULL: however new they are).
WITH matching AS MATERIALIZED (
    SELECT t.id, t.version
    FROM crewtop.tasks AS t
    WHERE t.status = ANY ($1::text[])
      AND ($2::timestamptz IS NULL OR greatest(t.created_at, (
              SELECT at FROM crewtop.task_history WHERE task_id = t.id AND version = t.version)) <= $2)
      AND /* where */
), operation AS (
    INSERT INTO crewtop.operations (action, argument, actor, reason, scope, total, state, ended_at)
    SELECT $3, $4::json, $5, $6, $7, n, CASE WHEN n > 0 THEN 'running' ELSE 'done' END, CASE WHEN n = 0 THEN now() END
    FROM (SELECT count(*) AS n FROM matching) AS counted
    RETURNING *
), item AS (
    INSERT INTO crewtop.operation_items (operation_id, task_id, seen)
    SELECT o.id, m.id, m.version FROM operation AS o CROSS JOIN matching AS m
)
SELECT id FROM operation
