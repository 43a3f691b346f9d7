-- Record, by $2 for reason $3, the undoing of operation $1 over what it changed, as it left it. What was run again is
-- undone in the new task instead.
WITH changed AS MATERIALIZED (
    SELECT coalesce((i.before ->> 'rerun')::bigint, i.task_id) AS id, i.left_version
    FROM crewtop.operation_items AS i WHERE i.operation_id = $1 AND i.done
), operation AS (
    INSERT INTO crewtop.operations (action, undoes, actor, reason, total, state, ended_at)
    SELECT 'undo', $1, $2, $3, n, CASE WHEN n > 0 THEN 'running' ELSE 'done' END, CASE WHEN n = 0 THEN now() END
    FROM (SELECT count(*) AS n FROM changed) AS counted
    RETURNING *
), item AS (
    INSERT INTO crewtop.operation_items (operation_id, task_id, seen)
    SELECT o.id, c.id, c.left_version FROM operation AS o CROSS JOIN changed AS c
)
SELECT id FROM operation
