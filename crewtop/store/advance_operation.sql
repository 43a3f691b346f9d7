-- Operation $1 has come up to task $2: $3 are done, tasks $4 are refused in words $5 and for reasons $6.
WITH refused AS (
    UPDATE crewtop.operation_items AS i
    SET done = false, outcome = r.outcome, refusal = r.refusal
    FROM unnest($4::bigint[], $5::text[], $6::text[]) AS r (id, outcome, refusal)
    WHERE i.operation_id = $1 AND i.task_id = r.id AND i.task_id = ANY ($4::bigint[])
)
UPDATE crewtop.operations
SET reached = $2, done = done + $3, refused = refused + cardinality($4::bigint[]), worked_at = now(),
    state = CASE WHEN done + refused + $3 + cardinality($4::bigint[]) >= total THEN 'done' ELSE state END,
    ended_at = CASE WHEN done + refused + $3 + cardinality($4::bigint[]) >= total THEN now() END
WHERE id = $1
RETURNING *
