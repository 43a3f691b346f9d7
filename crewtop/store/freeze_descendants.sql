-- Take into operation $1, a cancelling, what its tasks have fanned out and has not started, however far down.
-- A task that is not to be cancelled any more takes nothing along.
WITH RECURSIVE family AS (
    SELECT c.id, c.version, c.status
    FROM crewtop.operation_items AS i
    CROSS JOIN LATERAL (SELECT id, version, status FROM crewtop.tasks WHERE id = i.task_id) AS p
    CROSS JOIN LATERAL (SELECT id, version, status FROM crewtop.tasks WHERE parent_id = p.id) AS c
    WHERE i.operation_id = $1 AND p.version = i.seen AND p.status IN ('waiting', 'pending', 'running', 'retry')
    UNION
    SELECT c.id, c.version, c.status
    FROM family AS f
    CROSS JOIN LATERAL (SELECT id, version, status FROM crewtop.tasks WHERE parent_id = f.id) AS c
), added AS (
    INSERT INTO crewtop.operation_items (operation_id, task_id, seen)
    SELECT $1, id, version FROM family WHERE status IN ('waiting', 'pending', 'retry')
    ON CONFLICT DO NOTHING
    RETURNING task_id
)
UPDATE crewtop.operations SET total = total + (SELECT count(*) FROM added) WHERE id = $1
