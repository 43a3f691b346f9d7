-- Lift the silences $1 (NULL: of exactly the rule $2 and the subject $3) that are in force. Answers which.
UPDATE crewtop.silences SET until = now(), alert_id = NULL
WHERE CASE WHEN $1::bigint IS NULL THEN rule = $2 AND subject = $3 ELSE id = $1 END
  AND (until > now() OR alert_id = ANY (ARRAY(SELECT id FROM crewtop.alerts WHERE state <> 'ended')))
RETURNING id, at, rule, subject, until, alert_id, actor, reason
