-- Silences that are in force, the newest first.
SELECT id, at, rule, subject, until, alert_id, actor, reason FROM crewtop.silences
WHERE until > now() OR alert_id = ANY (ARRAY(SELECT id FROM crewtop.alerts WHERE state <> 'ended'))
ORDER BY id DESC LIMIT 200
