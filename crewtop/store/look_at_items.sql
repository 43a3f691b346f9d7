-- Tasks $2 of operation $1 as they stand now that they are locked, with what may keep it off them: who else holds the
-- key, who needs the result (asked for by $3), what undoing operation $4 would bring back. $5 are the eligible statuses.
-- The queue is that in which the task will be found: undoing a move puts it back into the one before.
SELECT i.task_id, i.seen, t.version, t.status, coalesce(t.cancelling, false) AS cancelling,
       -- Only what is refused is told about. As a join, this would read the whole history.
       CASE WHEN t.version <> i.seen OR t.status <> ALL ($5::text[])
            THEN extract(epoch FROM clock_timestamp() - (
                SELECT at FROM crewtop.task_history WHERE task_id = i.task_id AND version = t.version)) ELSE 0
            END::float8 AS since,
       t.waiting_for > 0 AS waits, coalesce(u.before ->> 'queue', t.queue) AS queue, t.crew, t.key, t.key_window::text AS key_window, k.id AS holder,
       d.task_id AS needed_by, u.before ->> 'status' AS restored, l.lacks
FROM crewtop.operation_items AS i
LEFT JOIN LATERAL (
    SELECT *, cancel_requested_at IS NOT NULL AND status = 'running' AS cancelling
    FROM crewtop.tasks WHERE id = i.task_id) AS t ON true
LEFT JOIN LATERAL (
    SELECT id FROM crewtop.tasks
    WHERE crew = t.crew AND key = t.key AND key_window = t.key_window AND id <> t.id
      AND (key_scope = 'always' OR status IN ('waiting', 'pending', 'running', 'retry')
           OR key_scope = 'completed' AND status = 'completed')
    LIMIT 1) AS k ON t.key IS NOT NULL
LEFT JOIN LATERAL (
    SELECT task_id FROM crewtop.task_dependencies
    WHERE depends_on = i.task_id AND EXISTS (
        SELECT FROM crewtop.tasks
        WHERE id = task_dependencies.task_id AND status IN ('waiting', 'pending', 'running', 'retry'))
    LIMIT 1) AS d ON $3::boolean
LEFT JOIN LATERAL (
    SELECT array_agg(depends_on ORDER BY depends_on) AS lacks FROM crewtop.task_dependencies AS e
    WHERE e.task_id = i.task_id AND NOT EXISTS (
        SELECT FROM crewtop.tasks WHERE id = e.depends_on AND status NOT IN ('failed', 'cancelled'))) AS l ON t.dependencies > 0 AND t.on_failure <> 'continue'
LEFT JOIN crewtop.operation_items AS u ON u.operation_id = $4::bigint AND u.task_id = i.task_id
WHERE i.operation_id = $1 AND i.task_id = ANY ($2::bigint[])
ORDER BY i.task_id
