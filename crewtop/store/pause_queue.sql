-- Let workers claim nothing from queue $1, on $2's word for reason $3. Who paused it first is remembered.
UPDATE crewtop.queues
SET paused_at = coalesce(paused_at, now()), paused_by = coalesce(paused_by, $2), paused_reason = coalesce($3, paused_reason)
WHERE name = $1
RETURNING name
