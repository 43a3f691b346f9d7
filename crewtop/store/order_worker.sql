-- An operator's wish for worker $1: that many slots ($2, NULL: unchanged), drain ($3). Answers whether it exists.
UPDATE crewtop.workers
SET desired_slots = coalesce($2, desired_slots), draining = draining OR $3
WHERE id = $1 AND stopped_at IS NULL
RETURNING id
