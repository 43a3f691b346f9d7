-- Forget alerts that ended $1 seconds ago, at most $2, and silences that are that old and not in force.
WITH ended AS (
    SELECT id FROM crewtop.alerts WHERE state = 'ended' AND ended_at < now() - make_interval(secs => $1)
    ORDER BY ended_at LIMIT $2
), gone AS (
    DELETE FROM crewtop.alerts WHERE id = ANY (ARRAY(SELECT id FROM ended))
)
DELETE FROM crewtop.silences
WHERE at < now() - make_interval(secs => $1)
  AND CASE WHEN until IS NULL THEN alert_id <> ALL (ARRAY(SELECT id FROM crewtop.alerts WHERE state <> 'ended'))
           ELSE until < now() - make_interval(secs => $1) END
