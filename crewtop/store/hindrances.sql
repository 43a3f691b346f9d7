-- What keeps task $1, which is pending or backs off, from running: each that claim.sql knows. $2: how far the tasks of a
-- priority are counted that its queue hands out before it; $3: after which part of its lease a silent worker counts as gone.
SELECT CASE WHEN t.run_at > now() THEN t.run_at END AS not_before, t.status = 'retry' AS backs_off,
       q.paused_at IS NOT NULL AS paused, q.paused_by, q.paused_reason,
       h.provider AS throttled_by, extract(epoch FROM h.until - now())::float8 AS throttled_seconds,
       (SELECT CASE scope WHEN 'total' THEN 'the day' ELSE scope || ' ' || name END
        FROM crewtop.standing_budgets
        WHERE held_until IS NOT NULL
          AND (scope = 'total' OR scope = 'queue' AND name = t.queue OR scope = 'crew' AND name = t.crew)
        ORDER BY scope, name LIMIT 1) AS spent_by,
       t.crew, t.queue,
       EXISTS (SELECT FROM crewtop.workers AS w
               WHERE w.stopped_at IS NULL AND NOT w.draining AND w.slots > 0
                 AND w.heartbeat_at > now() - make_interval(secs => $3 * w.lease_seconds)
                 AND t.crew = ANY (w.crews) AND (w.queues IS NULL OR t.queue = ANY (w.queues))) AS has_worker,
       l.scope AS limited, l.name AS limited_name, l.at_once, l.a_minute,
       (SELECT sum(c.n) FROM generate_series(0, 4) AS p (priority) CROSS JOIN LATERAL (
           -- How often waiting has to have raised a task of this priority for it to be before ours.
           SELECT CASE WHEN p.priority > t.priority THEN p.priority - e.priority + 1
                       ELSE greatest(0, p.priority - e.priority) END AS rises
       ) AS r CROSS JOIN LATERAL (
           SELECT count(*) AS n FROM (
               SELECT FROM crewtop.tasks AS o
               WHERE o.queue = t.queue AND o.priority = p.priority AND o.status IN ('pending', 'retry')
                 AND r.rises <= p.priority
                 AND o.run_at <= CASE WHEN r.rises = 0 THEN now() ELSE now() - make_interval(secs => r.rises * q.boost_seconds) END
                 AND (p.priority <> t.priority OR (o.run_at, o.id) < (t.run_at, t.id))
               LIMIT $2) AS capped
       ) AS c)::bigint AS before
FROM crewtop.tasks AS t JOIN crewtop.queues AS q ON q.name = t.queue
CROSS JOIN LATERAL (
    SELECT t.priority - least(t.priority, coalesce(floor(extract(epoch FROM greatest('0', now() - t.run_at)) / q.boost_seconds), 0))
           AS priority
) AS e
LEFT JOIN crewtop.throttles AS h ON h.crew = t.crew AND h.until > now()
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT scope, name,
               CASE WHEN NOT EXISTS (SELECT FROM crewtop.slots AS s WHERE s.scope = l.scope AND s.name = l.name
                                       AND s.n <= l.max_running AND s.run_id IS NULL) THEN max_running END AS at_once,
               CASE WHEN least(greatest(1, rate_per_minute / 12),
                               tokens + greatest(0, extract(epoch FROM now() - refilled_at)) * rate_per_minute / 60) < 1
                    THEN rate_per_minute END AS a_minute
        FROM crewtop.limits AS l
        WHERE scope = 'queue' AND name = t.queue OR scope = 'crew' AND name = t.crew
    ) AS used WHERE at_once IS NOT NULL OR a_minute IS NOT NULL
    LIMIT 1
) AS l ON true
WHERE t.id = $1
