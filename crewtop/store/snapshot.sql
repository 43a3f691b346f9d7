-- Everything that the screen shows, in one round trip, from counters, rollups and what runs now: never a scan of tasks.
-- $1: rollups from this instant on, since the monitor keeps older buckets (NULL: all of the window and an hour's spend);
-- $2: seconds of the window; $3: seconds without progress that make a run stuck; $4: at most so many running rows;
-- $5: also what was spent from midnight (UTC) to $1; $6: how far due tasks are counted.
SELECT json_build_object(
'at', now(),
'database', current_database(),
'version', current_setting('server_version'),
'role', current_user,
'read_only', pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'
             OR NOT has_table_privilege('crewtop.tasks', 'UPDATE'),
-- What holds for this role wherever it writes, should this server be a standby that is only read from.
'forbidden', current_setting('default_transaction_read_only') = 'on' OR NOT has_table_privilege('crewtop.tasks', 'UPDATE'),
'behind', CASE WHEN NOT pg_is_in_recovery() THEN 0
               WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT FROM pg_stat_wal_receiver)
               THEN 0
               ELSE greatest(0, extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())) END,
'settings', (SELECT json_object_agg(key, value) FROM crewtop.settings),
'queues', (
    SELECT json_agg(json_build_object(
        'name', q.name, 'paused_at', coalesce(q.paused_at, b.held_until),
        'by_budget', q.paused_at IS NULL AND b.held_until IS NOT NULL,
        'paused_by', CASE WHEN q.paused_at IS NULL THEN b.whose ELSE q.paused_by END,
        'paused_reason', CASE WHEN q.paused_at IS NULL THEN b.why ELSE q.paused_reason END,
        'service_levels', q.service_levels,
        -- How long the head of each priority has waited, P0 first; null where none waits.
        'waits', (SELECT json_agg(extract(epoch FROM now() - head.run_at) ORDER BY p.priority)
                   FROM generate_series(0, 4) AS p (priority)
                   LEFT JOIN LATERAL (SELECT run_at FROM crewtop.tasks
                       WHERE queue = q.name AND priority = p.priority AND status IN ('pending', 'retry') AND run_at <= now()
                       ORDER BY run_at LIMIT 1) AS head ON true),
        'next_due', (SELECT min(head.run_at) FROM generate_series(0, 4) AS p (priority)
                   CROSS JOIN LATERAL (SELECT run_at FROM crewtop.tasks
                       WHERE queue = q.name AND priority = p.priority AND status IN ('pending', 'retry') AND run_at > now()
                       ORDER BY run_at LIMIT 1) AS head),
        -- Of pending tasks those due later, and those due: each counted up to a limit. Whichever stays below it gives the
        -- other from the exact sum of both, so that those due, a backlog that may be long, are seldom counted (null).
        'later', later.n,
        'ready', CASE WHEN later.n >= $6::bigint THEN (SELECT sum(due.n) FROM generate_series(0, 4) AS p (priority)
                   CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
                       SELECT FROM crewtop.tasks WHERE queue = q.name AND priority = p.priority
                         AND status IN ('pending', 'retry') AND status = 'pending' AND run_at <= now()
                       LIMIT $6) AS capped) AS due) END
    ) ORDER BY q.name)
    FROM crewtop.queues AS q CROSS JOIN LATERAL (
        SELECT sum(due.n) AS n FROM generate_series(0, 4) AS p (priority)
        CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
            SELECT FROM crewtop.tasks WHERE queue = q.name AND priority = p.priority
              AND status IN ('pending', 'retry') AND status = 'pending' AND run_at > now()
            LIMIT $6) AS capped) AS due) AS later
    LEFT JOIN LATERAL (
        SELECT held_until, CASE scope WHEN 'total' THEN 'the day''s budget' ELSE 'its budget' END AS whose,
               'spent: it goes on at midnight UTC, or once the budget is raised' AS why
        FROM crewtop.standing_budgets
        WHERE held_until IS NOT NULL AND (scope = 'total' OR scope = 'queue' AND name = q.name)
        ORDER BY scope LIMIT 1) AS b ON true),
'depth', (SELECT json_agg(d) FROM (
    SELECT queue, crew, status, sum(n) AS n FROM crewtop.depth GROUP BY queue, crew, status HAVING sum(n) <> 0) AS d),
'arrivals', (SELECT json_agg(d) FROM (
    SELECT extract(epoch FROM date_bin('10 seconds', at, 'epoch'))::bigint AS bin,
           coalesce(sum(n) FILTER (WHERE status IN ('pending', 'retry')), 0) AS backlog,
           sum(n) AS arrived
    FROM crewtop.depth WHERE span < 3600 AND at > now() - make_interval(secs => $2) GROUP BY 1 ORDER BY 1) AS d),
'stats', (SELECT json_agg(s) FROM (
    SELECT extract(epoch FROM date_bin('10 seconds', at, 'epoch'))::bigint AS bin, queue, completed, failed, retried,
           met, missed, wait, run_ok, run_bad
    FROM crewtop.stats WHERE at >= coalesce($1, now() - make_interval(secs => $2))) AS s),
'spend', (SELECT json_agg(s) FROM (
    SELECT extract(epoch FROM date_bin('10 seconds', at, 'epoch'))::bigint AS bin, queue,
           sum(calls) AS calls, sum(unpriced) AS unpriced, sum(cost)::text AS cost
    FROM crewtop.model_stats WHERE at >= coalesce($1, now() - interval '1 hour') GROUP BY 1, 2) AS s),
'spent_before', (
    SELECT json_build_object('calls', coalesce(sum(calls), 0), 'unpriced', coalesce(sum(unpriced), 0),
                             'cost', coalesce(sum(cost), 0)::text)
    FROM crewtop.model_stats
    WHERE $5 AND at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
      AND at < date_bin('10 seconds', coalesce($1, now() - interval '1 hour'), 'epoch')),
'repriced', (SELECT max(worked_at) FROM crewtop.repricings),
'workers', (SELECT json_agg(w) FROM (
    SELECT w.*, extract(epoch FROM now() - heartbeat_at) AS heartbeat_age,
           extract(epoch FROM drain_ends_at - now()) AS drain_seconds_left, coalesce(b.n, 0) AS running
    FROM crewtop.workers AS w
    LEFT JOIN (SELECT worker_id, count(*) AS n FROM crewtop.tasks WHERE status = 'running' GROUP BY worker_id) AS b
      ON b.worker_id = w.id
    WHERE heartbeat_at > now() - interval '15 minutes'
    ORDER BY stopped_at IS NOT NULL, host, started_at LIMIT 500) AS w),
'throttles', (SELECT json_agg(h) FROM (
    SELECT crew, provider, extract(epoch FROM until - now()) AS seconds_left FROM crewtop.throttles WHERE until > now()
    UNION ALL
    SELECT name, 'its budget', extract(epoch FROM held_until - now())
    FROM crewtop.standing_budgets WHERE scope = 'crew' AND held_until IS NOT NULL
    ORDER BY crew LIMIT 100) AS h),
'budgets', (SELECT json_agg(b) FROM (
    SELECT scope, name, day::text, warn, pauses, judged_at, spent::text, unpriced, last_hour::text, held_until
    FROM crewtop.standing_budgets ORDER BY scope = 'total' DESC, scope, name LIMIT 200) AS b),
'running', (SELECT json_agg(r) FROM (
    SELECT t.id AS task_id, t.run_id, t.queue, t.crew, t.priority, t.worker_id, t.tokens, t.cost::text, t.unpriced_calls,
           t.calls, t.budget_seconds, t.cancel_requested_at IS NOT NULL AS cancelling,
           extract(epoch FROM now() - t.lease_expires_at) AS lease_overdue,
           extract(epoch FROM now() - r.claimed_at) AS age, extract(epoch FROM now() - r.progress_at) AS idle,
           r.step_position, r.step_count, r.agent, left(r.activity, 200) AS activity
    FROM crewtop.tasks AS t JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
    WHERE t.status = 'running'
    ORDER BY r.progress_at, t.id LIMIT $4) AS r),
'stuck', (SELECT json_object_agg(queue, n) FROM (
    SELECT t.queue, count(*) AS n
    FROM crewtop.tasks AS t JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
    WHERE t.status = 'running'
      AND (t.lease_expires_at < now()
           OR r.progress_at < now() - make_interval(secs => $3) AND r.activity IS DISTINCT FROM 'running a function'
           OR r.claimed_at < now() - make_interval(secs => t.budget_seconds))
    GROUP BY t.queue) AS s),
'lost_runs', (SELECT count(*) FROM (
    SELECT FROM crewtop.transitions
    WHERE old_status = 'running' AND actor LIKE 'worker:%' AND at > now() - interval '15 minutes' LIMIT 1000) AS l),
-- Who may not know, a role without pg_read_all_stats, sees no position, and no lag either. A standby that has all there is
-- tells none after a while; one that catches up may be behind by more than it tells, since it connected.
'standbys', (SELECT json_agg(s) FROM (
    SELECT application_name AS name,
           coalesce(extract(epoch FROM replay_lag), CASE WHEN state = 'streaming' AND replay_lsn IS NOT NULL THEN 0 END) AS lag
    FROM pg_stat_replication WHERE state IN ('streaming', 'catchup') OR state IS NULL ORDER BY 1, pid LIMIT 20) AS s),
'alerts', (SELECT json_agg(a) FROM (
    SELECT id, rule, subject, watches, queue, severity, state, since, fired_at, clear_since, ended_at, words,
           value, told
    FROM crewtop.alerts WHERE state <> 'ended' ORDER BY since, id LIMIT 1000) AS a),
'silences', (SELECT json_agg(s) FROM (
    SELECT id, at, rule, subject, until, alert_id, actor, reason FROM crewtop.silences AS s
    WHERE until > now() OR alert_id = ANY (ARRAY(SELECT id FROM crewtop.alerts WHERE state <> 'ended'))
    ORDER BY id DESC LIMIT 200) AS s)
)
