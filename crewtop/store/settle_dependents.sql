-- Count the ends of tasks $1 in those that depend on them, for actor $2: what waits for nothing more becomes pending, and
-- what must not go on without a dependency that failed, was cancelled or is gone ends as its on_failure says.
WITH edge AS MATERIALIZED (
    SELECT d.depends_on, d.task_id, d.name, coalesce(p.status, 'deleted') AS status
    FROM crewtop.task_dependencies AS d LEFT JOIN crewtop.tasks AS p ON p.id = d.depends_on AND p.id = ANY ($1)
    WHERE d.depends_on = ANY ($1::bigint[]) AND NOT d.settled
      AND coalesce(p.status, 'deleted') IN ('completed', 'failed', 'cancelled', 'deleted')
    ORDER BY d.task_id, d.depends_on FOR NO KEY UPDATE OF d
), settled AS (
    UPDATE crewtop.task_dependencies AS d SET settled = true
    FROM edge AS e
    WHERE d.depends_on = e.depends_on AND d.depends_on = ANY ($1) AND d.task_id = e.task_id AND d.name = e.name
      AND NOT d.settled
    RETURNING d.task_id, d.depends_on, e.status
), counted AS (
    SELECT task_id, count(*) AS n, min(depends_on) FILTER (WHERE status <> 'completed') AS culprit,
           (array_agg(status ORDER BY depends_on) FILTER (WHERE status <> 'completed'))[1] AS fate
    FROM settled GROUP BY task_id
), locked AS MATERIALIZED (
    SELECT c.*, t.*
    FROM (SELECT * FROM counted ORDER BY task_id) AS c CROSS JOIN LATERAL (
        SELECT id, status, waiting_for, on_failure FROM crewtop.tasks WHERE id = c.task_id FOR NO KEY UPDATE) AS t
), judged AS (
    SELECT l.*,
        CASE WHEN status <> 'waiting' THEN status
             WHEN culprit IS NOT NULL AND on_failure = 'fail' THEN 'failed'
             WHEN culprit IS NOT NULL AND on_failure = 'cancel' THEN 'cancelled'
             WHEN waiting_for <= n THEN 'pending' ELSE 'waiting' END AS new_status,
        CASE WHEN culprit IS NOT NULL AND on_failure <> 'continue'
             THEN format('task %s, on which it depends, %s', culprit,
                         CASE fate WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'was cancelled' ELSE 'was deleted' END)
             ELSE 'all that it depends on has ended' END AS why
    FROM locked AS l
), moved AS (
    UPDATE crewtop.tasks AS t
    SET waiting_for = greatest(0, t.waiting_for - j.n), status = j.new_status,
        version = t.version + (j.new_status <> j.status)::integer,
        run_at = CASE WHEN j.new_status <> j.status THEN greatest(t.run_at, now()) ELSE t.run_at END,
        finished_at = CASE WHEN j.new_status <> j.status AND j.new_status <> 'pending' THEN now() ELSE t.finished_at END,
        error = CASE WHEN j.new_status <> j.status AND j.new_status <> 'pending' THEN j.why ELSE t.error END
    FROM judged AS j WHERE t.id = j.id AND t.id = ANY (ARRAY(SELECT id FROM judged))
    RETURNING t.id, t.version, t.queue, t.crew, t.status, j.status AS old_status, j.why
), history AS (
    INSERT INTO crewtop.transitions (task_id, version, old_status, new_status, actor, reason)
    SELECT id, version, old_status, status, $2, why FROM moved WHERE status <> old_status
), rolled AS (
    INSERT INTO crewtop.stats (queue, crew, worker_id, failed)
    SELECT queue, crew, '', count(*) FROM moved WHERE status = 'failed' AND old_status <> 'failed' GROUP BY queue, crew
)
SELECT id AS task_id, queue, crew, status, version, why FROM moved WHERE status <> old_status
