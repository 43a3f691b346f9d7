-- Take at most $2 notices to target $1 that are due, the oldest first, and move their next attempt on: by $3 seconds, doubled
-- for each attempt up to $4, less at random up to a half. An end waits for its beginning.
WITH due AS MATERIALIZED (
    SELECT alert_id, event, target FROM crewtop.alert_notices AS n
    WHERE delivered_at IS NULL AND gave_up_at IS NULL AND next_at <= now() AND target = $1
      AND (event = 'fired' OR NOT EXISTS (
          SELECT FROM crewtop.alert_notices AS f
          WHERE f.alert_id = n.alert_id AND f.target = n.target AND f.event = 'fired'
            AND f.delivered_at IS NULL AND f.gave_up_at IS NULL))
    ORDER BY owed_at, alert_id, event, target LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE crewtop.alert_notices AS n
    SET attempts = attempts + 1,
        next_at = now() + make_interval(secs => least($4, $3 * 2 ^ least(attempts, 20)) * (0.5 + random() / 2))
    FROM due WHERE (n.alert_id, n.event, n.target) = (due.alert_id, due.event, due.target)
    RETURNING n.alert_id, n.event, n.target, n.owed_at
)
SELECT t.event, t.target, a.* FROM taken AS t JOIN crewtop.alerts AS a ON a.id = t.alert_id ORDER BY t.owed_at, a.id, t.event
