-- Let worker $1 judge alerts for $2 seconds from now, if nobody else does, or if it comes before who does: one that delivers ($3)
-- before one that does not, then the one that started later. Answers whether it is the one.
WITH me AS (
    SELECT started_at FROM crewtop.workers WHERE id = $1 AND stopped_at IS NULL
), taken AS (
    UPDATE crewtop.alert_watch AS w
    SET worker_id = $1, delivers = $3, since = me.started_at, until = clock_timestamp() + make_interval(secs => $2)
    FROM me
    WHERE w.worker_id = $1 OR w.until < clock_timestamp() OR ($3, me.started_at) > (w.delivers, w.since)
    RETURNING true
)
SELECT EXISTS (SELECT FROM taken) AS mine
