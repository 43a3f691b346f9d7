-- One operator action ($1) by $4 for reason $5 over tasks $2 as seen at versions $3. Eligible are statuses $6.
-- Every task is locked in id order, judged as it stands then, and answered for in words.
WITH operation AS (
    INSERT INTO crewtop.operations (action, actor, reason) VALUES ($1, $4, $5) RETURNING id
), locked AS MATERIALIZED (
    SELECT t.*, s.seen
    FROM (SELECT * FROM unnest($2::bigint[], $3::integer[]) AS s (id, seen) ORDER BY id) AS s
    CROSS JOIN LATERAL (SELECT * FROM crewtop.tasks WHERE id = s.id FOR NO KEY UPDATE) AS t
), eligible AS MATERIALIZED (
    SELECT l.*,
        CASE WHEN $1 = 'fail' THEN 'failed'
             WHEN $1 <> 'cancel' THEN 'pending'
             WHEN status = 'running' THEN 'running' ELSE 'cancelled' END AS new_status
    FROM locked AS l
    WHERE status = ANY ($6::text[]) AND version = seen AND ($1 <> 'cancel' OR cancel_requested_at IS NULL)
), moved AS (
    UPDATE crewtop.tasks AS t
    SET status = e.new_status,
        version = t.version + 1,
        lease_expires_at = CASE WHEN e.new_status = 'running' THEN t.lease_expires_at END,
        cancel_requested_at = CASE WHEN e.new_status = 'running' THEN now() END,
        finished_at = CASE WHEN e.new_status IN ('failed', 'cancelled') THEN now() END,
        -- A requeued run keeps its place in the queue; what was resting or had ended is due now.
        run_at = CASE WHEN e.new_status = 'pending' AND e.status <> 'running' THEN now() ELSE t.run_at END,
        max_attempts = CASE WHEN $1 = 'retry' THEN greatest(t.max_attempts, t.failed_runs + 1) ELSE t.max_attempts END,
        crashed_runs = CASE WHEN $1 = 'retry' THEN 0 ELSE t.crashed_runs END,
        lost_runs = CASE WHEN $1 = 'retry' THEN 0 ELSE t.lost_runs END,
        interrupted_runs = CASE WHEN $1 = 'retry' THEN 0 ELSE t.interrupted_runs END,
        error = CASE WHEN $1 = 'fail' THEN left(concat_ws(': ', 'failed by ' || $4, $5), 500) ELSE t.error END
    FROM eligible AS e
    WHERE t.id = e.id AND t.id = ANY (ARRAY(SELECT id FROM eligible))
    RETURNING t.id, t.version, t.status
), superseded AS (
    UPDATE crewtop.runs AS r
    SET outcome = 'superseded', finished_at = now(), error = concat_ws(': ', $1 || ' by ' || $4, $5)
    FROM eligible AS e
    WHERE r.id = e.run_id AND r.id = ANY (ARRAY(SELECT run_id FROM eligible))
      AND e.status = 'running' AND e.new_status <> 'running'
), cut_short AS (
    UPDATE crewtop.steps AS s SET status = 'failed', error = $1 || ' by ' || $4
    FROM eligible AS e
    WHERE s.run_id = e.run_id AND s.status = 'running' AND e.status = 'running' AND e.new_status <> 'running'
), history AS (
    INSERT INTO crewtop.task_history (task_id, version, old_status, new_status, run_id, actor, reason)
    SELECT m.id, m.version, e.status, m.status, e.run_id, 'operator:' || $4,
           concat_ws(': ', CASE WHEN m.status = 'running' THEN 'cancel requested' ELSE $1 END, $5)
    FROM moved AS m JOIN eligible AS e USING (id)
), verb AS (
    SELECT CASE $1 WHEN 'retry' THEN 'retried' WHEN 'fail' THEN 'failed' WHEN 'requeue' THEN 'requeued'
                   ELSE 'cancelled' END AS past
), answer AS (
    SELECT i.id AS task_id, m.id IS NOT NULL AS done,
        CASE
            WHEN m.status = 'running' THEN 'cancelling: its process is being killed'
            WHEN m.id IS NOT NULL THEN past
            WHEN l.id IS NULL THEN format('not %s: there is no such task', past)
            WHEN l.cancel_requested_at IS NOT NULL AND l.status = 'running' AND $1 = 'cancel'
                THEN 'not cancelled: already cancelling'
            ELSE format('not %s: %s %s s ago%s', past,
                        CASE WHEN l.status = 'pending' THEN 'queued' ELSE l.status END,
                        round(extract(epoch FROM clock_timestamp() - h.at)::numeric, 1),
                        CASE WHEN l.status = ANY ($6::text[]) THEN ', since you looked' ELSE '' END)
        END AS why,
        CASE WHEN m.id IS NOT NULL AND e.status = 'running' THEN l.run_id END AS run_id,
        CASE WHEN m.id IS NOT NULL AND e.status = 'running' THEN l.worker_id END AS worker_id,
        CASE WHEN m.status = 'pending' THEN l.queue END AS queue
    FROM verb CROSS JOIN unnest($2::bigint[]) AS i (id)
    LEFT JOIN locked AS l USING (id) LEFT JOIN eligible AS e USING (id) LEFT JOIN moved AS m USING (id)
    LEFT JOIN crewtop.task_history AS h ON h.task_id = l.id AND h.version = l.version
), audited AS (
    INSERT INTO crewtop.operation_items (operation_id, task_id, done, outcome)
    SELECT o.id, a.task_id, a.done, a.why FROM operation AS o CROSS JOIN answer AS a
)
SELECT o.id AS operation_id, a.* FROM operation AS o LEFT JOIN answer AS a ON true ORDER BY a.task_id
