-- What finished from $1 on, from rollups alone, by what takes the mark's place: counts, and histograms merged bucket by
-- bucket. A worker is known for as long as rollups are finer than hours.
WITH picked AS MATERIALIZED (
    SELECT /* group */ AS name, completed, failed, retried, met, missed, wait, run_ok, run_bad
    FROM crewtop.stats AS c WHERE at >= $1
), bars AS (
    SELECT name, measure, key, sum(value::bigint) AS n
    FROM picked CROSS JOIN LATERAL (
        SELECT 'wait' AS measure, * FROM jsonb_each_text(wait)
        UNION ALL SELECT 'run', * FROM jsonb_each_text(run_ok)
        UNION ALL SELECT 'run', * FROM jsonb_each_text(run_bad)) AS bar
    GROUP BY name, measure, key
), histograms AS (
    SELECT name, jsonb_object_agg(key, n) FILTER (WHERE measure = 'wait') AS wait,
           jsonb_object_agg(key, n) FILTER (WHERE measure = 'run') AS run
    FROM bars GROUP BY name
), counts AS (
    SELECT name, sum(completed)::bigint AS completed, sum(failed)::bigint AS failed, sum(retried)::bigint AS retried,
           sum(met)::bigint AS met, sum(missed)::bigint AS missed
    FROM picked GROUP BY name
)
SELECT c.*, coalesce(h.wait, '{}')::text AS wait, coalesce(h.run, '{}')::text AS run
FROM counts AS c LEFT JOIN histograms AS h USING (name)
