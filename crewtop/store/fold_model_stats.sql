-- Fold ended LLM calls, in buckets of $1 seconds (0: as appended), into one row for each bucket of $2 seconds, queue, crew
-- and model, once the whole bucket is $3 seconds old.
WITH gone AS MATERIALIZED (
    DELETE FROM crewtop.model_stats
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM crewtop.model_stats
                            WHERE span = $1
                              AND at < date_bin(make_interval(secs => $2), now() - make_interval(secs => $3), 'epoch')
                            LIMIT 20000 FOR UPDATE SKIP LOCKED))
    RETURNING date_bin(make_interval(secs => $2), at, 'epoch') AS bin, *
), histograms AS (
    SELECT bin, queue, crew, provider, model, jsonb_object_agg(key, n) AS latency
    FROM (SELECT bin, queue, crew, provider, model, key, sum(value::bigint) AS n
          FROM gone CROSS JOIN LATERAL jsonb_each_text(latency)
          GROUP BY bin, queue, crew, provider, model, key) AS bar
    GROUP BY bin, queue, crew, provider, model
)
INSERT INTO crewtop.model_stats
    (at, span, queue, crew, provider, model, calls, errors, rate_limited, unpriced, input_tokens, cache_read_tokens,
     cache_write_tokens, output_tokens, reasoning_tokens, cost, latency)
SELECT g.bin, $2, g.queue, g.crew, g.provider, g.model, sum(calls), sum(errors), sum(rate_limited), sum(unpriced),
       sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens),
       sum(cost), coalesce(h.latency, '{}')
FROM gone AS g LEFT JOIN histograms AS h USING (bin, queue, crew, provider, model)
GROUP BY g.bin, g.queue, g.crew, g.provider, g.model, h.latency
