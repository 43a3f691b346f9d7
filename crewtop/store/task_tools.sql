-- The uses of tools in all runs of task $1: the newest 1,000, in the order in which they began.
SELECT * FROM (
    SELECT u.run_id, u.number, u.step_position, u.tool, u.outcome, u.error, u.started_at, u.seconds
    FROM crewtop.runs AS r JOIN crewtop.tool_uses AS u ON u.run_id = r.id
    WHERE r.task_id = $1 ORDER BY u.started_at DESC, u.number DESC LIMIT 1000
) AS newest ORDER BY started_at, run_id, number
