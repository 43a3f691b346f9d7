-- Do what operation $1, a $3, wants to its tasks $2: they are locked, and were judged fit; $5 of its batch are done. Answers the queues to wake, what
-- has ended by it, and the runs whose process has to be killed, with their workers.
-- Everything that a task becomes follows from itself and from $3: nothing here joins, so that a batch costs by its size.
WITH operation AS MATERIALIZED (
    SELECT argument, actor, reason, 'operator:' || actor AS by, at, done,
           60 / (argument ->> 'per_minute')::float8 AS drip_seconds
    FROM crewtop.operations WHERE id = $1
), fit AS MATERIALIZED (
    SELECT t.*,
        CASE $3 WHEN 'retry' THEN CASE WHEN t.waiting_for > 0 THEN 'waiting' ELSE 'pending' END
                WHEN 'requeue' THEN 'pending'
                WHEN 'fail' THEN 'failed'
                WHEN 'cancel' THEN CASE t.status WHEN 'running' THEN 'running' ELSE 'cancelled' END
                ELSE t.status END AS new_status,
        t.status = 'running' AND $3 IN ('fail', 'requeue') AS taken
    FROM unnest($2::bigint[]) AS i (id)
    CROSS JOIN LATERAL (SELECT * FROM crewtop.tasks WHERE id = i.id AND id = ANY ($2)) AS t
), moved AS (
    UPDATE crewtop.tasks AS t
    SET status = CASE $3 WHEN 'retry' THEN CASE WHEN t.waiting_for > 0 THEN 'waiting' ELSE 'pending' END
                         WHEN 'requeue' THEN 'pending'
                         WHEN 'fail' THEN 'failed'
                         WHEN 'cancel' THEN CASE t.status WHEN 'running' THEN 'running' ELSE 'cancelled' END
                         ELSE t.status END,
        version = t.version + 1,
        lease_expires_at = CASE WHEN $3 NOT IN ('fail', 'requeue') THEN t.lease_expires_at END,
        cancel_requested_at = CASE WHEN $3 = 'cancel' AND t.status = 'running' THEN now() END,
        finished_at = CASE WHEN $3 = 'fail' OR $3 = 'cancel' AND t.status <> 'running' THEN now()
                           WHEN $3 IN ('move', 'priority', 'edit') THEN t.finished_at END,
        -- A requeued run keeps its place in the queue; what was resting or had ended is due now.
        -- Retried at a rate, each is due a drip after the one before.
        run_at = CASE WHEN $3 = 'retry' AND (SELECT drip_seconds FROM operation) IS NOT NULL
                      THEN (SELECT greatest(now(), at + make_interval(
                                secs => (done + $5::integer + array_position($2::bigint[], t.id) - 1) * drip_seconds)) FROM operation)
                      WHEN $3 = 'retry' OR $3 = 'requeue' AND t.status <> 'running' THEN now() ELSE t.run_at END,
        max_attempts = CASE WHEN $3 = 'retry' THEN greatest(t.max_attempts, t.failed_runs + 1) ELSE t.max_attempts END,
        crashed_runs = CASE WHEN $3 = 'retry' THEN 0 ELSE t.crashed_runs END,
        lost_runs = CASE WHEN $3 = 'retry' THEN 0 ELSE t.lost_runs END,
        interrupted_runs = CASE WHEN $3 = 'retry' THEN 0 ELSE t.interrupted_runs END,
        operator_runs = t.operator_runs + (t.status = 'running' AND $3 IN ('fail', 'requeue'))::integer,
        error = CASE WHEN $3 = 'fail' THEN (SELECT left(concat_ws(': ', 'failed by ' || actor, reason), 500) FROM operation)
                     ELSE t.error END,
        queue = CASE WHEN $3 = 'move' THEN (SELECT argument ->> 'queue' FROM operation) ELSE t.queue END,
        priority = CASE WHEN $3 = 'priority' THEN (SELECT (argument ->> 'priority')::smallint FROM operation)
                        ELSE t.priority END,
        inputs = CASE WHEN $3 = 'edit' THEN (SELECT argument -> 'inputs' FROM operation) ELSE t.inputs END,
        inputs_replaced = CASE WHEN $3 = 'edit' THEN (SELECT (argument ->> 'replaced')::integer FROM operation)
                               ELSE t.inputs_replaced END,
        steps_since = CASE WHEN $3 = 'edit' THEN t.run_id ELSE t.steps_since END
    WHERE t.id = ANY ($2::bigint[])
), new_queue AS (
    INSERT INTO crewtop.queues (name) SELECT argument ->> 'queue' FROM operation WHERE $3 = 'move' ON CONFLICT DO NOTHING
), superseded AS (
    UPDATE crewtop.runs AS r
    SET outcome = 'superseded', finished_at = now(), error = concat_ws(': ', $3 || ' by ' || o.actor, o.reason)
    FROM operation AS o, fit AS f
    WHERE r.task_id = f.id AND r.task_id = ANY ($2) AND r.id = f.run_id AND f.taken
), cut_short AS (
    UPDATE crewtop.steps AS s SET status = 'failed', error = $3 || ' by ' || o.actor
    FROM operation AS o, fit AS f
    WHERE s.run_id = f.run_id AND s.run_id = ANY (ARRAY(SELECT run_id FROM fit WHERE taken)) AND s.status = 'running'
), freed AS (
    UPDATE crewtop.slots SET run_id = NULL WHERE run_id = ANY (ARRAY(SELECT run_id FROM fit WHERE taken))
), history AS (
    INSERT INTO crewtop.transitions (task_id, version, old_status, new_status, run_id, actor, reason)
    SELECT f.id, f.version + 1, f.status, f.new_status, f.run_id, o.by,
           concat_ws(': ', CASE $3 WHEN 'cancel' THEN CASE f.new_status WHEN 'running' THEN 'cancel requested' ELSE 'cancel' END
                                   WHEN 'move' THEN format('move from %s to %s', f.queue, o.argument ->> 'queue')
                                   WHEN 'priority' THEN format('priority from %s to %s', f.priority, o.argument ->> 'priority')
                                   ELSE $3 END, o.reason)
    FROM fit AS f CROSS JOIN operation AS o
), item AS (
    UPDATE crewtop.operation_items AS i
    SET done = true, left_version = f.version + 1,
        outcome = CASE WHEN f.new_status = 'running' THEN 'cancelling: its process is being killed' ELSE $4 END,
        -- What this action changes, as undo.sql puts it back.
        before = CASE $3
            WHEN 'move' THEN json_build_object('status', f.status, 'queue', f.queue)
            WHEN 'priority' THEN json_build_object('status', f.status, 'priority', f.priority)
            WHEN 'edit' THEN json_build_object('status', f.status, 'inputs', f.inputs, 'replaced', f.inputs_replaced,
                                               'steps_since', f.steps_since)
            WHEN 'retry' THEN json_build_object(
                'status', f.status, 'run_at', f.run_at, 'finished_at', f.finished_at, 'max_attempts', f.max_attempts,
                'crashed', f.crashed_runs, 'lost', f.lost_runs, 'interrupted', f.interrupted_runs)
            ELSE json_build_object('status', f.status, 'run_at', f.run_at, 'error', f.error) END
    FROM fit AS f
    WHERE i.operation_id = $1 AND i.task_id = f.id AND i.task_id = ANY ($2::bigint[])
)
SELECT ARRAY(SELECT DISTINCT CASE WHEN $3 = 'move' THEN (SELECT argument ->> 'queue' FROM operation) ELSE queue END
             FROM fit WHERE new_status = 'pending' OR $3 = 'priority') AS woken,
       ARRAY(SELECT id FROM fit WHERE $3 IN ('fail', 'cancel') AND new_status <> 'running') AS ended,
       ARRAY(SELECT run_id FROM fit WHERE taken OR new_status = 'running' ORDER BY id) AS runs,
       ARRAY(SELECT worker_id FROM fit WHERE taken OR new_status = 'running' ORDER BY id) AS workers
