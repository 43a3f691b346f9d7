-- Fold what finished, in buckets of $1 seconds (0: as appended), into one row for each bucket of $2 seconds, queue, crew
-- and worker, once the whole bucket is $3 seconds old: folded piece by piece, it would be as many rows as before.
-- An hour, which is kept for a year, is told without its workers, which come and go.
WITH gone AS MATERIALIZED (
    DELETE FROM crewtop.stats
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM crewtop.stats
                            WHERE span = $1
                              AND at < date_bin(make_interval(secs => $2), now() - make_interval(secs => $3), 'epoch')
                            LIMIT 20000 FOR UPDATE SKIP LOCKED))
    RETURNING date_bin(make_interval(secs => $2), at, 'epoch') AS bin, queue, crew,
              CASE WHEN $2 >= 3600 THEN '' ELSE worker_id END AS worker_id,
              completed, failed, retried, met, missed, wait, run_ok, run_bad
), bars AS (
    SELECT bin, queue, crew, worker_id, measure, key, sum(value::bigint) AS n
    FROM gone CROSS JOIN LATERAL (
        SELECT 'wait' AS measure, * FROM jsonb_each_text(wait)
        UNION ALL SELECT 'run_ok', * FROM jsonb_each_text(run_ok)
        UNION ALL SELECT 'run_bad', * FROM jsonb_each_text(run_bad)) AS bar
    GROUP BY bin, queue, crew, worker_id, measure, key
), histograms AS (
    SELECT bin, queue, crew, worker_id,
           jsonb_object_agg(key, n) FILTER (WHERE measure = 'wait') AS wait,
           jsonb_object_agg(key, n) FILTER (WHERE measure = 'run_ok') AS run_ok,
           jsonb_object_agg(key, n) FILTER (WHERE measure = 'run_bad') AS run_bad
    FROM bars GROUP BY bin, queue, crew, worker_id
)
INSERT INTO crewtop.stats (at, span, queue, crew, worker_id, completed, failed, retried, met, missed, wait, run_ok, run_bad)
SELECT g.bin, $2, g.queue, g.crew, g.worker_id, sum(completed), sum(failed), sum(retried), sum(met), sum(missed),
       coalesce(h.wait, '{}'), coalesce(h.run_ok, '{}'), coalesce(h.run_bad, '{}')
FROM gone AS g LEFT JOIN histograms AS h USING (bin, queue, crew, worker_id)
GROUP BY g.bin, g.queue, g.crew, g.worker_id, h.wait, h.run_ok, h.run_bad
