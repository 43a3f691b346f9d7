-- Put down that the ends of alerts $1 are to be delivered to those to whom their beginnings were.
INSERT INTO crewtop.alert_notices (alert_id, event, target)
SELECT alert_id, 'ended', target FROM crewtop.alert_notices WHERE event = 'fired' AND alert_id = ANY ($1::uuid[])
ORDER BY 1, 3
ON CONFLICT DO NOTHING
