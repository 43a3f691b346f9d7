-- What the newest $2 LLM calls cost of those that ended from $1 on, by crew and step.
SELECT t.crew || ' / ' || coalesce(s.name, 'no step') AS name, count(*) AS calls,
       count(*) FILTER (WHERE c.cost IS NULL) AS unpriced, coalesce(sum(c.cost), 0) AS cost,
       coalesce(sum(input_tokens), 0)::bigint AS input_tokens, coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
       coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
       coalesce(sum(output_tokens), 0)::bigint AS output_tokens,
       coalesce(sum(reasoning_tokens), 0)::bigint AS reasoning_tokens
FROM (SELECT * FROM crewtop.llm_calls WHERE ended_at >= $1 ORDER BY ended_at DESC LIMIT $2) AS c
JOIN crewtop.tasks AS t ON t.id = c.task_id
LEFT JOIN crewtop.steps AS s ON s.run_id = c.run_id AND s.position = c.step_position
GROUP BY 1
