-- What LLM calls cost that ended from $1 on, from rollups alone, by what takes the mark's place.
SELECT /* group */ AS name, sum(calls)::bigint AS calls, sum(unpriced)::bigint AS unpriced, sum(cost) AS cost,
       sum(input_tokens)::bigint AS input_tokens, sum(cache_read_tokens)::bigint AS cache_read_tokens,
       sum(cache_write_tokens)::bigint AS cache_write_tokens, sum(output_tokens)::bigint AS output_tokens,
       sum(reasoning_tokens)::bigint AS reasoning_tokens
FROM crewtop.model_stats AS c WHERE at >= $1 GROUP BY 1
