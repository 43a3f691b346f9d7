-- Let workers claim nothing from queue $1, on $2's word for reason $3. Who paused it first is remembered. A queue that is
-- not there yet is made, so that its first task already waits. Answers whether it was there.
INSERT INTO crewtop.queues AS q (name, paused_at, paused_by, paused_reason) VALUES ($1, now(), $2, $3)
ON CONFLICT (name) DO UPDATE
SET paused_at = coalesce(q.paused_at, now()), paused_by = coalesce(q.paused_by, $2),
    paused_reason = coalesce($3, q.paused_reason)
RETURNING created_at < now() AS was_there
