-- Record an operation: action $1, argument $2, by $3, for reason $4, over tasks $5 as seen at versions $6.
WITH operation AS (
    INSERT INTO crewtop.operations (action, argument, actor, reason, total, state, ended_at)
    SELECT $1, $2::json, $3, $4, n, CASE WHEN n > 0 THEN 'running' ELSE 'done' END, CASE WHEN n = 0 THEN now() END
    FROM cardinality($5::bigint[]) AS n
    RETURNING *
), item AS (
    INSERT INTO crewtop.operation_items (operation_id, task_id, seen)
    SELECT o.id, s.id, s.version
    FROM operation AS o CROSS JOIN unnest($5::bigint[], $6::integer[]) AS s (id, version)
)
SELECT id FROM operation
