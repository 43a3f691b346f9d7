-- What LLM calls cost that ended from $1 on, of the newest $2 tasks that have failed, by what takes the mark's place.
WITH failed AS MATERIALIZED (
    SELECT id, queue, crew FROM crewtop.tasks
    WHERE status IN ('failed', 'cancelled', 'waiting', 'retry') AND status BETWEEN 'failed' AND 'failed'
    ORDER BY status, id DESC LIMIT $2
)
SELECT /* group */ AS name, count(*) AS calls, count(*) FILTER (WHERE c.cost IS NULL) AS unpriced,
       coalesce(sum(c.cost), 0) AS cost
FROM failed AS t
CROSS JOIN LATERAL (
    SELECT run_id, step_position, provider, model, cost, ended_at FROM crewtop.llm_calls
    WHERE task_id = t.id AND ended_at >= $1
) AS c
LEFT JOIN crewtop.steps AS s ON s.run_id = c.run_id AND s.position = c.step_position
GROUP BY 1
