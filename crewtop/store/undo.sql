-- Put tasks $2 of operation $1 back to what they were before operation $3. They are locked, and are as that one left them.
-- What ran before is put into its queue, since its process has been killed; a wish to cancel that nobody has carried out
-- yet is withdrawn.
WITH was AS MATERIALIZED (
    SELECT t.id, t.version, t.status AS left_status, t.queue AS left_queue, t.run_id, b.before,
        CASE WHEN t.status = 'running' THEN 'running'
             WHEN b.before ->> 'status' = 'running' THEN 'pending'
             WHEN b.before ->> 'status' = 'waiting' AND t.waiting_for = 0 THEN 'pending'
             ELSE b.before ->> 'status' END AS new_status
    FROM unnest($2::bigint[]) AS i (id)
    CROSS JOIN LATERAL (SELECT * FROM crewtop.tasks WHERE id = i.id AND id = ANY ($2)) AS t
    CROSS JOIN LATERAL (SELECT before FROM crewtop.operation_items WHERE operation_id = $3 AND task_id = i.id) AS b
), moved AS (
    UPDATE crewtop.tasks AS t
    SET status = w.new_status, version = t.version + 1, cancel_requested_at = NULL,
        finished_at = CASE WHEN w.new_status NOT IN ('completed', 'failed', 'cancelled') THEN NULL
                           ELSE coalesce((w.before ->> 'finished_at')::timestamptz, t.finished_at) END,
        run_at = coalesce((w.before ->> 'run_at')::timestamptz, t.run_at),
        max_attempts = coalesce((w.before ->> 'max_attempts')::smallint, t.max_attempts),
        crashed_runs = coalesce((w.before ->> 'crashed')::smallint, t.crashed_runs),
        lost_runs = coalesce((w.before ->> 'lost')::smallint, t.lost_runs),
        interrupted_runs = coalesce((w.before ->> 'interrupted')::smallint, t.interrupted_runs),
        error = CASE WHEN w.before -> 'error' IS NULL THEN t.error ELSE w.before ->> 'error' END,
        queue = coalesce(w.before ->> 'queue', t.queue),
        priority = coalesce((w.before ->> 'priority')::smallint, t.priority),
        inputs = coalesce(w.before -> 'inputs', t.inputs),
        inputs_replaced = coalesce((w.before ->> 'replaced')::integer, t.inputs_replaced),
        steps_since = CASE WHEN w.before -> 'steps_since' IS NULL THEN t.steps_since
                           ELSE (w.before ->> 'steps_since')::bigint END
    FROM was AS w
    WHERE t.id = w.id AND t.id = ANY ($2::bigint[])
), history AS (
    INSERT INTO crewtop.transitions (task_id, version, old_status, new_status, run_id, actor, reason)
    SELECT w.id, w.version + 1, w.left_status, w.new_status, w.run_id, 'operator:' || o.actor,
           concat_ws(': ', 'undo of operation ' || $3, o.reason)
    FROM was AS w CROSS JOIN crewtop.operations AS o WHERE o.id = $1
), item AS (
    UPDATE crewtop.operation_items AS i
    SET done = true, left_version = w.version + 1,
        outcome = CASE WHEN w.new_status = 'running' THEN 'undone: not to be cancelled any more'
                       WHEN w.before ->> 'status' = 'running' THEN 'undone: pending again, since its process was killed'
                       ELSE 'undone: ' || w.new_status || ' again' END
    FROM was AS w
    WHERE i.operation_id = $1 AND i.task_id = w.id AND i.task_id = ANY ($2::bigint[])
)
SELECT ARRAY(SELECT DISTINCT coalesce(before ->> 'queue', left_queue) FROM was WHERE new_status = 'pending') AS woken,
       ARRAY(SELECT id FROM was WHERE new_status IN ('failed', 'cancelled')) AS ended,
       '{}'::bigint[] AS runs, '{}'::text[] AS workers
