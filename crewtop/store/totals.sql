-- What has ended since $1 (NULL: ever), from rollups alone: sums of what can no longer change (settled: it began before
-- the cut, $2 seconds ago) apart from those that may still grow.
SELECT json_build_object(
'at', now(),
'cut', date_bin('10 seconds', now() - make_interval(secs => $2), 'epoch'),
'repriced', (SELECT max(worked_at) FROM crewtop.repricings),
'runs', (SELECT json_agg(r) FROM (
    SELECT at < date_bin('10 seconds', now() - make_interval(secs => $2), 'epoch') AS settled, queue, crew,
           sum(completed) AS completed, sum(failed) AS failed, sum(retried) AS retried, sum(met) AS met,
           sum(missed) AS missed
    FROM crewtop.stats WHERE at >= coalesce($1::timestamptz, '-infinity') GROUP BY 1, 2, 3) AS r),
'calls', (SELECT json_agg(c) FROM (
    SELECT at < date_bin('10 seconds', now() - make_interval(secs => $2), 'epoch') AS settled, provider, model,
           sum(calls) AS calls, sum(errors) AS errors, sum(rate_limited) AS rate_limited, sum(unpriced) AS unpriced,
           sum(input_tokens) AS input, sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write,
           sum(output_tokens) AS output, sum(reasoning_tokens) AS reasoning, sum(cost)::text AS cost
    FROM crewtop.model_stats WHERE at >= coalesce($1::timestamptz, '-infinity') GROUP BY 1, 2, 3) AS c)
)
