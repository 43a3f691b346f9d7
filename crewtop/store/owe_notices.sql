-- Put down what is to be delivered: of alerts $1 the events $2 to targets $3. $4: it has been delivered already.
INSERT INTO crewtop.alert_notices (alert_id, event, target, delivered_at)
SELECT alert_id, event, target, CASE WHEN delivered THEN now() END
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::boolean[]) AS n (alert_id, event, target, delivered)
ORDER BY 1, 2, 3
ON CONFLICT DO NOTHING
