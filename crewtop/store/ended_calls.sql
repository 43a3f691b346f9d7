-- LLM calls that ended after $1 and not after $2, to model $3 (NULL: to any), in that order: the first $4, and those of the
-- last one's stamp, so that the next page begins after a stamp.
SELECT c.run_id, c.call_id, c.task_id, coalesce(c.provider, '') AS provider, c.model, c.started_at, c.ended_at, c.input_tokens,
       c.cache_read_tokens, c.cache_write_tokens, c.output_tokens, c.reasoning_tokens, c.cost, c.price_source,
       c.usage::text, c.route::text, c.step_position, t.crew, t.queue, t.priority
FROM (SELECT * FROM crewtop.llm_calls
      WHERE ended_at > $1 AND ended_at <= $2 AND ($3::text IS NULL OR model = $3 OR provider || '/' || model = $3)
      ORDER BY ended_at FETCH FIRST ($4::bigint) ROWS WITH TIES) AS c
JOIN crewtop.tasks AS t ON t.id = c.task_id
ORDER BY c.ended_at, c.run_id, c.call_id
