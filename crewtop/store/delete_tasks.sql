-- Delete tasks $1 and all that is theirs, and answer which: never one that runs, one that somebody has locked, or a
-- completed one whose result a task that has not ended is to get. Nothing else deletes a task.
WITH gone AS MATERIALIZED (
    SELECT t.id
    FROM (SELECT * FROM unnest($1::bigint[]) AS i (id) ORDER BY id) AS i
    CROSS JOIN LATERAL (
        SELECT id FROM crewtop.tasks
        WHERE id = i.id AND status <> 'running' AND NOT (status = 'completed' AND EXISTS (
            SELECT FROM crewtop.task_dependencies AS d JOIN crewtop.tasks AS n ON n.id = d.task_id
            WHERE d.depends_on = i.id AND n.status IN ('waiting', 'pending', 'running', 'retry')))
        FOR UPDATE SKIP LOCKED) AS t
), step AS (
    DELETE FROM crewtop.steps WHERE run_id = ANY (ARRAY(
        SELECT id FROM crewtop.runs WHERE task_id = ANY (ARRAY(SELECT id FROM gone))))
), tool AS (
    DELETE FROM crewtop.tool_uses WHERE run_id = ANY (ARRAY(
        SELECT id FROM crewtop.runs WHERE task_id = ANY (ARRAY(SELECT id FROM gone))))
), call AS (
    DELETE FROM crewtop.llm_calls WHERE task_id = ANY (ARRAY(SELECT id FROM gone))
), run AS (
    DELETE FROM crewtop.runs WHERE task_id = ANY (ARRAY(SELECT id FROM gone))
), transition AS (
    DELETE FROM crewtop.transitions WHERE task_id = ANY (ARRAY(SELECT id FROM gone))
), own_dependency AS (
    DELETE FROM crewtop.task_dependencies WHERE task_id = ANY (ARRAY(SELECT id FROM gone))
), settled_dependency AS (
    -- One that is not settled yet stays, for those that still wait to learn that this one is gone.
    DELETE FROM crewtop.task_dependencies
    WHERE depends_on = ANY (ARRAY(SELECT id FROM gone)) AND settled AND task_id <> ALL (ARRAY(SELECT id FROM gone))
), task AS (
    DELETE FROM crewtop.tasks WHERE id = ANY (ARRAY(SELECT id FROM gone))
)
SELECT id FROM gone
