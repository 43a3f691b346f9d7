-- Forget up to $2 operations that ended $1 seconds ago, with their items. One that a later one takes back goes after it.
WITH gone AS (
    DELETE FROM crewtop.operations
    WHERE id IN (
        SELECT id FROM crewtop.operations AS o
        WHERE ended_at < now() - make_interval(secs => $1)
          AND NOT EXISTS (SELECT FROM crewtop.operations AS undo WHERE undo.undoes = o.id)
        ORDER BY id LIMIT $2
        FOR UPDATE SKIP LOCKED)
    RETURNING id
)
DELETE FROM crewtop.operation_items WHERE operation_id = ANY (ARRAY(SELECT id FROM gone))
