-- Every transition of task $1, oldest first.
SELECT version, at, old_status, new_status, run_id, actor, reason
FROM crewtop.task_history WHERE task_id = $1 ORDER BY version LIMIT 1000
