-- Hand up to $4 ready tasks to worker $1: of queues $2 (NULL: every queue) and crews $3, for a lease of $5 seconds.
-- Strictly by priority, then by due time; queues share one priority evenly. One probe of tasks_ready for each queue,
-- priority and rise (how often waiting has raised it), so that a million tasks that are not due yet or not urgent cost
-- nothing. Tasks of crews that this worker does not have are read over on the way: a long row of them at the head of a
-- queue makes its claims slower.
WITH rated AS MATERIALIZED (
    -- A bucket of five seconds' worth, so that what a poll apart is claimed still makes the rate.
    SELECT scope, name, least(greatest(1, rate_per_minute / 12),
                              tokens + greatest(0, extract(epoch FROM now() - refilled_at)) * rate_per_minute / 60) AS tokens
    FROM crewtop.limits
    WHERE rate_per_minute IS NOT NULL
      AND (scope = 'queue' AND ($2::text[] IS NULL OR name = ANY ($2)) OR scope = 'crew' AND name = ANY ($3::text[]))
    ORDER BY scope, name FOR NO KEY UPDATE
), free AS MATERIALIZED (
    SELECT l.scope, l.name, s.n, row_number() OVER (PARTITION BY l.scope, l.name) AS i
    FROM crewtop.limits AS l CROSS JOIN LATERAL (
        SELECT n FROM crewtop.slots
        WHERE scope = l.scope AND name = l.name AND n <= l.max_running AND run_id IS NULL
        LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED
    ) AS s
    WHERE l.scope = 'queue' AND ($2 IS NULL OR l.name = ANY ($2)) OR l.scope = 'crew' AND l.name = ANY ($3)
), capacity AS MATERIALIZED (
    SELECT l.scope, l.name, least($4, floor(r.tokens), CASE WHEN l.max_running IS NOT NULL THEN
               (SELECT count(*) FROM free AS f WHERE f.scope = l.scope AND f.name = l.name) END)::integer AS n
    FROM crewtop.limits AS l LEFT JOIN rated AS r USING (scope, name)
), lane AS MATERIALIZED (
    SELECT q.name AS queue, p.priority, coalesce(c.n, $4) AS n,
           now() - make_interval(secs => coalesce(rise * q.boost_seconds, 0)) AS until,
           CASE WHEN rise < p.priority THEN now() - make_interval(secs => (rise + 1) * q.boost_seconds) END AS since
    FROM crewtop.queues AS q CROSS JOIN generate_series(0, 4) AS p (priority)
    CROSS JOIN generate_series(0, 4) AS rise
    LEFT JOIN capacity AS c ON c.scope = 'queue' AND c.name = q.name
    WHERE q.paused_at IS NULL AND ($2 IS NULL OR q.name = ANY ($2)) AND coalesce(c.n, $4) > 0
      AND NOT EXISTS (SELECT FROM crewtop.standing_budgets
                      WHERE held_until IS NOT NULL AND (scope = 'total' OR scope = 'queue' AND name = q.name))
      AND (rise = 0 OR rise <= p.priority AND q.boost_seconds IS NOT NULL)
    ORDER BY p.priority - rise, p.priority, random()
), picked AS MATERIALIZED (
    SELECT t.*, row_number() OVER () AS place
    FROM lane CROSS JOIN LATERAL (
        SELECT id, status, run_id, queue, crew
        FROM crewtop.tasks
        WHERE queue = lane.queue AND priority = lane.priority AND status IN ('pending', 'retry')
          AND run_at <= lane.until AND run_at > coalesce(lane.since, '-infinity')
          AND crew = ANY (ARRAY(SELECT c FROM unnest($3) AS c
                                WHERE NOT EXISTS (SELECT FROM capacity WHERE scope = 'crew' AND name = c AND n <= 0)
                                  AND NOT EXISTS (SELECT FROM crewtop.throttles AS h WHERE h.crew = c AND h.until > now())
                                  AND NOT EXISTS (SELECT FROM crewtop.standing_budgets
                                                  WHERE held_until IS NOT NULL AND scope = 'crew' AND name = c)))
        ORDER BY run_at, id
        LIMIT lane.n
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS t
    LIMIT $4
), allowed AS MATERIALIZED (
    SELECT p.*
    FROM (SELECT *, row_number() OVER (PARTITION BY queue ORDER BY place) AS in_queue,
                    row_number() OVER (PARTITION BY crew ORDER BY place) AS in_crew FROM picked) AS p
    LEFT JOIN capacity AS q ON q.scope = 'queue' AND q.name = p.queue
    LEFT JOIN capacity AS c ON c.scope = 'crew' AND c.name = p.crew
    WHERE in_queue <= coalesce(q.n, in_queue) AND in_crew <= coalesce(c.n, in_crew)
), claimed AS (
    UPDATE crewtop.tasks AS t
    SET status = 'running', version = version + 1, worker_id = $1, run_id = nextval('crewtop.runs_id_seq'),
        lease_expires_at = now() + make_interval(secs => $5), cancel_requested_at = NULL
    WHERE t.id = ANY (ARRAY(SELECT id FROM allowed))
    RETURNING t.id, t.run_id, t.version, t.queue, t.crew, t.priority, t.inputs, t.run_at, t.failed_runs, t.crashed_runs,
              t.throttled_runs, t.budget_seconds, t.dependencies
), taken AS (
    UPDATE crewtop.slots AS s SET run_id = c.run_id
    FROM free AS f JOIN (
        SELECT 'queue' AS scope, queue AS name, run_id, row_number() OVER (PARTITION BY queue) AS i FROM claimed
        UNION ALL SELECT 'crew', crew, run_id, row_number() OVER (PARTITION BY crew) FROM claimed
    ) AS c USING (scope, name, i)
    WHERE s.scope = f.scope AND s.name = f.name AND s.n = f.n
), spent AS (
    UPDATE crewtop.limits AS l SET tokens = r.tokens - c.n, refilled_at = greatest(now(), l.refilled_at)
    FROM rated AS r JOIN (
        SELECT 'queue' AS scope, queue AS name, count(*) AS n FROM claimed GROUP BY queue
        UNION ALL SELECT 'crew', crew, count(*) FROM claimed GROUP BY crew
    ) AS c USING (scope, name)
    WHERE l.scope = r.scope AND l.name = r.name
), run AS (
    INSERT INTO crewtop.runs (id, task_id, worker_id, claimed_version, old_status, waited_seconds)
    -- A task that was handed back keeps its place by its old run_at, but has waited since its last run only.
    SELECT c.run_id, c.id, $1, c.version, p.status, greatest(0, extract(epoch FROM now() - greatest(
               c.run_at, (SELECT finished_at FROM crewtop.runs WHERE task_id = p.id AND id = p.run_id))))
    FROM claimed AS c JOIN allowed AS p USING (id)
)
SELECT c.id AS task_id, c.run_id, c.queue, c.crew, c.inputs::text,
       c.failed_runs + c.crashed_runs + c.throttled_runs AS retries, c.budget_seconds,
       c.crashed_runs AS crashes, (p.run_id IS NOT NULL)::integer AS earlier_runs, c.dependencies,
       (SELECT count(*) FROM picked) > (SELECT count(*) FROM allowed) AS cut, c.priority, c.version
FROM claimed AS c JOIN allowed AS p USING (id) ORDER BY p.place
