-- Record an operation: action $8 with argument $9, by $10, for reason $11, typed as $12, over the tasks that match as in
-- list_tasks.sql, of statuses $6, as they stand now if they have stood so since $7 (NULL: however new they are).
WITH matching AS MATERIALIZED (
    SELECT t.id, t.version
    FROM crewtop.tasks AS t
    WHERE ($1::text[] IS NULL OR t.status = ANY ($1))
      AND ($2::text[] IS NULL OR t.crew = ANY ($2))
      AND ($3::text[] IS NULL OR t.queue = ANY ($3))
      AND ($4::smallint IS NULL OR t.priority = $4)
      AND ($5::text IS NULL OR strpos(lower(concat_ws(' ', t.crew, t.error, t.id)), lower($5)) > 0)
      AND t.status = ANY ($6::text[])
      AND ($7::timestamptz IS NULL OR greatest(t.created_at, (
              SELECT at FROM crewtop.task_history WHERE task_id = t.id AND version = t.version)) <= $7)
), operation AS (
    INSERT INTO crewtop.operations (action, argument, actor, reason, scope, total, state, ended_at)
    SELECT $8, $9::json, $10, $11, $12, n, CASE WHEN n > 0 THEN 'running' ELSE 'done' END, CASE WHEN n = 0 THEN now() END
    FROM (SELECT count(*) AS n FROM matching) AS counted
    RETURNING *
), item AS (
    INSERT INTO crewtop.operation_items (operation_id, task_id, seen)
    SELECT o.id, m.id, m.version FROM operation AS o CROSS JOIN matching AS m
)
SELECT id FROM operation
