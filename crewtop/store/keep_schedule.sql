-- A worker has schedule $1 in its configuration, as $2. Its next tick is $3, or stays what it is (NULL).
-- $4: the next tick as the worker saw it (NULL: there was no row). Where it has moved on since, another was first.
INSERT INTO crewtop.schedules AS s (name, definition, next_at)
SELECT $1, $2::json, coalesce($3, $4::timestamptz)
ON CONFLICT (name) DO UPDATE
SET definition = excluded.definition, next_at = excluded.next_at, seen_at = now()
WHERE s.next_at = $4
