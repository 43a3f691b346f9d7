-- Put the ended tasks $2 of operation $1 in again as new tasks, from scratch. They are locked, and were judged fit.
-- A key that the old task still holds stays with it; one that nobody holds goes to the new one. Dependencies come along,
-- all of them settled: the new task is handed the same results.
WITH fit AS MATERIALIZED (
    SELECT t.* FROM unnest($2::bigint[]) AS i (id) CROSS JOIN LATERAL (SELECT * FROM crewtop.tasks WHERE id = i.id) AS t
    ORDER BY t.id
), fresh AS (
    INSERT INTO crewtop.tasks
        (queue, crew, priority, status, inputs, inputs_replaced, budget_seconds, max_attempts, key, key_scope, key_window,
         dependencies, on_failure, rerun_of)
    SELECT queue, crew, priority, 'pending', inputs, inputs_replaced,
           budget_seconds, max_attempts, CASE WHEN free THEN key END, CASE WHEN free THEN key_scope END,
           CASE WHEN free THEN key_window ELSE '-infinity' END, dependencies, on_failure, id
    FROM (SELECT *, NOT (key_scope = 'always' OR key_scope = 'completed' AND status = 'completed') AS free FROM fit) AS f
    RETURNING id, rerun_of, queue
), dependency AS (
    INSERT INTO crewtop.task_dependencies (depends_on, task_id, name, settled)
    SELECT d.depends_on, n.id, d.name, true
    FROM fresh AS n CROSS JOIN LATERAL (SELECT * FROM crewtop.task_dependencies WHERE task_id = n.rerun_of) AS d
), item AS (
    UPDATE crewtop.operation_items AS i
    SET done = true, left_version = 1, outcome = format('%s as task %s', $3::text, n.id),
        before = json_build_object('rerun', n.id)
    FROM fresh AS n
    WHERE i.operation_id = $1 AND i.task_id = n.rerun_of AND i.task_id = ANY ($2::bigint[])
)
SELECT ARRAY(SELECT DISTINCT queue FROM fresh) AS woken, '{}'::bigint[] AS ended, '{}'::bigint[] AS runs, '{}'::text[] AS workers,
       ARRAY(SELECT rerun_of FROM fresh ORDER BY id) AS rerun, ARRAY(SELECT id FROM fresh ORDER BY id) AS anew
