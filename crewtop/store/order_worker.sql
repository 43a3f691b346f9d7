-- An operator's wish for worker $1: that many slots ($2, NULL: unchanged), drain ($3), end at once ($4). Answers whether it is alive.
UPDATE crewtop.workers
SET desired_slots = coalesce($2, desired_slots), draining = draining OR $3 OR $4, killed = killed OR $4
WHERE id = $1 AND stopped_at IS NULL AND heartbeat_at > now() - 3 * make_interval(secs => lease_seconds)
RETURNING id
