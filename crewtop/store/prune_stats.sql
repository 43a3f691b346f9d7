-- Fold hours that began more than $1 seconds ago, $2 rows at a time, into one row for each queue and crew that begins
-- before all time: sums over everything stay true, and no window reaches it. Answers how many there were.
WITH old AS MATERIALIZED (
    SELECT ctid, at FROM crewtop.stats
    WHERE at > '-infinity' AND at < now() - make_interval(secs => $1) ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
), base AS MATERIALIZED (
    SELECT ctid FROM crewtop.stats
    WHERE at = '-infinity' AND EXISTS (SELECT FROM old) FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM crewtop.stats WHERE ctid = ANY (ARRAY(SELECT ctid FROM old UNION ALL SELECT ctid FROM base))
    RETURNING queue, crew, completed, failed, retried, met, missed
), sums AS (
    INSERT INTO crewtop.stats (at, span, queue, crew, worker_id, completed, failed, retried, met, missed)
    SELECT '-infinity', 31536000, queue, crew, '', sum(completed), sum(failed), sum(retried), sum(met), sum(missed)
    FROM gone GROUP BY queue, crew
)
SELECT count(*) AS n FROM old
