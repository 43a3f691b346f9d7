-- Repricing $1 has looked at the calls that ended up to $2; NULL: at all of them.
UPDATE crewtop.repricings
SET reached = coalesce($2, reached), worked_at = now(), ended_at = CASE WHEN $2::timestamptz IS NULL THEN now() END
WHERE id = $1
