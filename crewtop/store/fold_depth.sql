-- Fold the counters: changes into 10-second buckets after $1 seconds, buckets into one base row after $2 seconds.
-- Locked rows belong to another folder: skipped, so that nobody waits and nothing is folded twice.
WITH ripe AS MATERIALIZED (
    SELECT ctid FROM crewtop.depth
    WHERE (span = 0 AND at < now() - make_interval(secs => $1))
       OR (span = 10 AND at < now() - make_interval(secs => $2))
       OR (span = 3600 AND EXISTS (SELECT FROM crewtop.depth
                                   WHERE span = 10 AND at < now() - make_interval(secs => $2)))
    LIMIT 50000 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM crewtop.depth WHERE ctid = ANY (ARRAY(SELECT ctid FROM ripe))
    RETURNING *
)
INSERT INTO crewtop.depth (at, span, queue, crew, status, n)
SELECT CASE WHEN span = 0 THEN date_bin('10 seconds', at, 'epoch') ELSE '-infinity' END,
       CASE WHEN span = 0 THEN 10 ELSE 3600 END, queue, crew, status, sum(n)
FROM gone GROUP BY 1, 2, queue, crew, status HAVING sum(n) <> 0
