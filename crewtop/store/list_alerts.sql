-- The newest $1 alerts, those that fire first, each with what was not delivered of it: the last error, and to how many targets.
SELECT a.*, n.undelivered, n.error
FROM crewtop.alerts AS a LEFT JOIN LATERAL (
    SELECT count(*) AS undelivered, max(error) AS error FROM crewtop.alert_notices
    WHERE alert_id = a.id AND delivered_at IS NULL) AS n ON true
ORDER BY a.state = 'ended', a.state = 'pending', coalesce(a.ended_at, a.since) DESC, a.id LIMIT $1
