-- The same for LLM calls: one row for each queue, crew and model.
WITH old AS MATERIALIZED (
    SELECT ctid, at FROM crewtop.model_stats
    WHERE at > '-infinity' AND at < now() - make_interval(secs => $1) ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
), base AS MATERIALIZED (
    SELECT ctid FROM crewtop.model_stats
    WHERE at = '-infinity' AND EXISTS (SELECT FROM old) FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM crewtop.model_stats WHERE ctid = ANY (ARRAY(SELECT ctid FROM old UNION ALL SELECT ctid FROM base))
    RETURNING *
), sums AS (
    INSERT INTO crewtop.model_stats
        (at, span, queue, crew, provider, model, calls, errors, rate_limited, unpriced, input_tokens, cache_read_tokens,
         cache_write_tokens, output_tokens, reasoning_tokens, cost)
    SELECT '-infinity', 31536000, queue, crew, provider, model, sum(calls), sum(errors), sum(rate_limited), sum(unpriced),
           sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens),
           sum(cost)
    FROM gone GROUP BY queue, crew, provider, model
)
SELECT count(*) AS n FROM old
