-- Write LLM calls as they start and as they end; a start that is already known adds whose it is, an end is final.
-- Not fenced: money was spent whoever holds the lease.
WITH report AS (
    SELECT *
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::float8[], $10::float8[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
                $16::numeric[], $17::text[], $18::text[], $19::text[], $20::text[], $21::boolean[], $22::text[],
                $23::bigint[], $24::text[], $25::float8[], $26::text[])
         AS r (run_id, call_id, task_id, step_position, agent, provider, model, outcome, started_ago, seconds,
               input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
               cost, price_source, usage, finish_reason, error, clamped, route,
               estimated_tokens, context_cut, waited_seconds, key_tail)
), begun AS MATERIALIZED (
    SELECT c.*
    FROM report AS r CROSS JOIN LATERAL (
        SELECT run_id, call_id, coalesce(provider, '') AS begun_provider, model AS begun_model FROM crewtop.llm_calls
        WHERE run_id = r.run_id AND run_id = ANY ($1) AND call_id = r.call_id
          AND outcome IN ('started', 'killed') AND r.outcome <> 'started'
    ) AS c
), written AS (
    INSERT INTO crewtop.llm_calls AS c
        (run_id, call_id, task_id, step_position, agent, provider, model, outcome, started_at, seconds, input_tokens,
         cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost, price_source, usage,
         finish_reason, error, ended_at, clamped, route, estimated_tokens, context_cut, waited_seconds, key_tail)
    SELECT run_id, call_id, task_id, step_position, agent, provider, model, outcome,
           now() - make_interval(secs => started_ago), seconds, input_tokens, cache_read_tokens, cache_write_tokens,
           output_tokens, reasoning_tokens, cost, price_source, usage::json, finish_reason, error,
           CASE WHEN outcome <> 'started' THEN now() END, coalesce(clamped, false), route::json, estimated_tokens,
           context_cut, waited_seconds, key_tail
    FROM report
    ON CONFLICT (run_id, call_id) DO UPDATE
    SET outcome = excluded.outcome, seconds = excluded.seconds, input_tokens = excluded.input_tokens,
        cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens,
        output_tokens = excluded.output_tokens, reasoning_tokens = excluded.reasoning_tokens, cost = excluded.cost,
        price_source = excluded.price_source, usage = excluded.usage, finish_reason = excluded.finish_reason,
        error = excluded.error, clamped = excluded.clamped,
        ended_at = CASE WHEN excluded.outcome <> 'started' THEN coalesce(c.ended_at, now()) END,
        agent = coalesce(excluded.agent, c.agent), step_position = coalesce(excluded.step_position, c.step_position),
        provider = excluded.provider, model = excluded.model, route = coalesce(excluded.route, c.route),
        estimated_tokens = coalesce(excluded.estimated_tokens, c.estimated_tokens),
        context_cut = coalesce(excluded.context_cut, c.context_cut),
        waited_seconds = coalesce(excluded.waited_seconds, c.waited_seconds),
        key_tail = coalesce(excluded.key_tail, c.key_tail)
    WHERE c.outcome IN ('started', 'killed') AND excluded.outcome <> 'started'
       OR c.outcome = 'started' AND c.agent IS NULL AND excluded.agent IS NOT NULL
    RETURNING c.*
), locked AS MATERIALIZED (
    -- In id order, as every statement that touches several tasks locks them: no deadlock.
    SELECT id, queue, crew FROM crewtop.tasks WHERE id = ANY ($3) ORDER BY id FOR NO KEY UPDATE
), ended AS (
    -- Those with an earlier end were written off as killed when their run was lost, and answered after all: what they
    -- really cost replaces the unknown. That end tells it, which begun may not: it may have come since this began.
    SELECT w.*, t.queue, t.crew, (w.ended_at <> now())::integer AS known, begun_provider, begun_model
    FROM written AS w JOIN locked AS t ON t.id = w.task_id LEFT JOIN begun USING (run_id, call_id)
    WHERE outcome <> 'started'
), charged AS (
    UPDATE crewtop.tasks AS t
    SET calls = t.calls + e.calls, unpriced_calls = t.unpriced_calls + e.unpriced,
        tokens = t.tokens + e.tokens, cost = t.cost + e.cost
    FROM (SELECT task_id, count(*) - sum(known) AS calls, count(*) FILTER (WHERE cost IS NULL) - sum(known) AS unpriced,
                 coalesce(sum(coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0)
                              + coalesce(cache_write_tokens, 0) + coalesce(output_tokens, 0)), 0) AS tokens,
                 coalesce(sum(cost), 0) AS cost
          FROM ended GROUP BY task_id) AS e
    WHERE t.id = e.task_id AND t.id = ANY ($3)
), made_good AS (
    -- In the rollup of the time when it was written off.
    INSERT INTO crewtop.model_stats (at, queue, crew, provider, model, calls, errors, unpriced)
    SELECT ended_at, queue, crew, coalesce(begun_provider, provider, ''), coalesce(begun_model, model),
           -count(*), -count(*), -count(*)
    FROM ended WHERE known = 1 GROUP BY ended_at, queue, crew, 4, 5
)
INSERT INTO crewtop.model_stats
    (at, queue, crew, provider, model, calls, errors, rate_limited, unpriced, input_tokens, cache_read_tokens,
     cache_write_tokens, output_tokens, reasoning_tokens, cost, latency)
SELECT ended_at, queue, crew, coalesce(provider, ''), model, count(*),
       count(*) FILTER (WHERE outcome <> 'ok'), count(*) FILTER (WHERE outcome = 'rate_limited'),
       count(*) FILTER (WHERE cost IS NULL),
       coalesce(sum(input_tokens), 0), coalesce(sum(cache_read_tokens), 0), coalesce(sum(cache_write_tokens), 0),
       coalesce(sum(output_tokens), 0), coalesce(sum(reasoning_tokens), 0), coalesce(sum(cost), 0),
       (SELECT coalesce(jsonb_object_agg(b, n), '{}') FROM (
            SELECT crewtop.bucket(s) AS b, count(*) AS n FROM unnest(array_agg(seconds)) AS s GROUP BY 1) AS h)
FROM ended GROUP BY ended_at, queue, crew, provider, model
