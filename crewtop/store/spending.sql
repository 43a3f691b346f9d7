-- What LLM calls cost in the last $1 hours, and in the last $2 days (UTC), from rollups alone; failed: of the newest $3
-- failed tasks those that failed in these hours, found as in failures.sql.
WITH called AS MATERIALIZED (
    SELECT * FROM crewtop.model_stats WHERE at >= now() - make_interval(hours => $1)
), ended AS MATERIALIZED (
    SELECT crew, queue, sum(completed) AS completed FROM crewtop.stats
    WHERE at >= now() - make_interval(hours => $1) GROUP BY crew, queue
), latencies AS MATERIALIZED (
    SELECT provider, model, json_object_agg(key, n) AS latency
    FROM (SELECT provider, model, key, sum(value::bigint) AS n
          FROM called CROSS JOIN LATERAL jsonb_each_text(latency) GROUP BY provider, model, key) AS bar
    GROUP BY provider, model
)
SELECT json_build_object(
'at', now(),
'models', (SELECT json_agg(m) FROM (
    SELECT provider, model, sum(calls) AS calls, sum(errors) AS errors, sum(rate_limited) AS rate_limited,
           sum(input_tokens) AS input_tokens, sum(cache_read_tokens) AS cache_read_tokens,
           sum(cache_write_tokens) AS cache_write_tokens, sum(output_tokens) AS output_tokens,
           sum(reasoning_tokens) AS reasoning_tokens, sum(unpriced) AS unpriced, sum(cost)::text AS cost,
           (SELECT latency FROM latencies AS l WHERE l.provider = c.provider AND l.model = c.model) AS latency
    FROM called AS c GROUP BY provider, model) AS m),
'crews', (SELECT json_agg(s) FROM (
    SELECT crew AS name, sum(completed) AS completed, sum(calls) AS calls, sum(unpriced) AS unpriced, sum(cost)::text AS cost
    FROM (SELECT crew, 0 AS completed, calls, unpriced, cost FROM called
          UNION ALL SELECT crew, completed, 0, 0, 0 FROM ended) AS share GROUP BY crew) AS s),
'queues', (SELECT json_agg(s) FROM (
    SELECT queue AS name, sum(completed) AS completed, sum(calls) AS calls, sum(unpriced) AS unpriced, sum(cost)::text AS cost
    FROM (SELECT queue, 0 AS completed, calls, unpriced, cost FROM called
          UNION ALL SELECT queue, completed, 0, 0, 0 FROM ended) AS share GROUP BY queue) AS s),
'hours', (SELECT json_agg(h) FROM (
    SELECT extract(epoch FROM date_bin('1 hour', at, 'epoch'))::bigint AS at, sum(calls) AS calls,
           sum(unpriced) AS unpriced, sum(cost)::text AS cost
    FROM called GROUP BY 1) AS h),
'days', (SELECT json_agg(d) FROM (
    SELECT extract(epoch FROM date_bin('1 day', at, 'epoch'))::bigint AS at, sum(calls) AS calls,
           sum(unpriced) AS unpriced, sum(cost)::text AS cost
    FROM crewtop.model_stats WHERE at >= date_bin('1 day', now(), 'epoch') - make_interval(hours => 24 * ($2 - 1)) GROUP BY 1) AS d),
'last_hour', (
    SELECT json_build_object('calls', coalesce(sum(calls), 0), 'unpriced', coalesce(sum(unpriced), 0),
                             'cost', coalesce(sum(cost), 0)::text)
    FROM crewtop.model_stats WHERE at >= now() - interval '1 hour'),
'failed', (
    SELECT json_build_object('calls', coalesce(sum(calls), 0), 'unpriced', coalesce(sum(unpriced_calls), 0),
                             'cost', coalesce(sum(cost), 0)::text)
    FROM (SELECT calls, unpriced_calls, cost, finished_at FROM crewtop.tasks
          WHERE status IN ('failed', 'cancelled', 'waiting', 'retry') AND status BETWEEN 'failed' AND 'failed'
          ORDER BY status, id DESC LIMIT $3) AS newest
    WHERE finished_at >= now() - make_interval(hours => $1))
)
