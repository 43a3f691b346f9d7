-- Pause, cancel or resume operation $1: it becomes $2 if it is one of $3. Waits for a batch that is being worked off.
UPDATE crewtop.operations
SET state = $2, ended_at = CASE WHEN $2 = 'cancelled' THEN now() END,
    -- Whoever resumes it works it off.
    worked_at = now()
WHERE id = $1 AND state = ANY ($3::text[])
RETURNING *
