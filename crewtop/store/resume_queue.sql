-- Let workers claim from queue $1 again.
UPDATE crewtop.queues SET paused_at = NULL, paused_by = NULL, paused_reason = NULL WHERE name = $1 RETURNING name
