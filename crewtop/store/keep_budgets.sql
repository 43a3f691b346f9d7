-- Worker $1 has these budgets in its configuration. Of several workers the newest one's counts, until nobody has seen that
-- for a minute.
INSERT INTO crewtop.budgets AS b (scope, name, day, warn, pauses, since)
SELECT u.*, w.started_at
FROM unnest($2::text[], $3::text[], $4::numeric[], $5::float8[], $6::boolean[]) AS u, crewtop.workers AS w
WHERE w.id = $1
ORDER BY 1, 2
ON CONFLICT (scope, name) DO UPDATE
SET day = excluded.day, warn = excluded.warn, pauses = excluded.pauses, since = excluded.since, seen_at = now()
WHERE excluded.since >= b.since OR b.seen_at < now() - interval '1 minute'
