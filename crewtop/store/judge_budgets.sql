-- Compare what was spent since midnight (UTC) with budgets $1, $2, which are locked: whose day is spent is held until the
-- next midnight, if it is one that pauses, and one that was raised since goes on. In a statement of its own: begun before
-- the locks were had, it would judge by older sums than the last one did.
WITH day AS MATERIALIZED (
    SELECT date_bin('1 day', now(), 'epoch') AS began
), called AS MATERIALIZED (
    SELECT queue, crew, coalesce(sum(cost) FILTER (WHERE at >= began), 0) AS spent,
           coalesce(sum(unpriced) FILTER (WHERE at >= began), 0) AS unpriced,
           coalesce(sum(cost) FILTER (WHERE at >= now() - interval '1 hour'), 0) AS last_hour
    FROM crewtop.model_stats, day
    WHERE at >= least(began, now() - interval '1 hour') GROUP BY queue, crew
), summed AS MATERIALIZED (
    SELECT b.scope, b.name, coalesce(sum(c.spent), 0) AS spent, coalesce(sum(c.unpriced), 0) AS unpriced,
           coalesce(sum(c.last_hour), 0) AS last_hour
    FROM unnest($1::text[], $2::text[]) AS b (scope, name)
    LEFT JOIN called AS c ON CASE b.scope WHEN 'crew' THEN c.crew = b.name WHEN 'queue' THEN c.queue = b.name ELSE true END
    GROUP BY b.scope, b.name
), before AS MATERIALIZED (
    SELECT scope, name, held_until FROM crewtop.budgets
)
UPDATE crewtop.budgets AS b
SET spent = s.spent, unpriced = s.unpriced, last_hour = s.last_hour, judged_at = now(),
    held_until = CASE WHEN b.pauses AND s.spent >= b.day THEN day.began + interval '24 hours' END
FROM summed AS s JOIN before AS o USING (scope, name), day
WHERE b.scope = s.scope AND b.name = s.name
RETURNING b.scope, b.name, b.day, b.warn, b.pauses, b.spent, b.unpriced, b.last_hour, b.judged_at, b.held_until,
          coalesce(o.held_until > now(), false) AS was_held, now() AS at
