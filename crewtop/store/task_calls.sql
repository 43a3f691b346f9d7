-- The LLM calls of task $1: the newest 1,000, in the order in which they began, and how many there are.
SELECT * FROM (
    SELECT *, count(*) OVER () AS total
    FROM crewtop.llm_calls WHERE task_id = $1 ORDER BY started_at DESC LIMIT 1000
) AS newest ORDER BY started_at, call_id
