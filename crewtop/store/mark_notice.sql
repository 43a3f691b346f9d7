-- What became of an attempt to deliver event $2 of alert $1 to target $3: $4 is the error, NULL: it was delivered. What has been
-- owed for $5 seconds is given up.
UPDATE crewtop.alert_notices
SET delivered_at = CASE WHEN $4::text IS NULL THEN now() END, error = $4,
    gave_up_at = CASE WHEN $4::text IS NOT NULL AND owed_at < now() - make_interval(secs => $5) THEN now() END
WHERE alert_id = $1 AND event = $2 AND target = $3 AND delivered_at IS NULL
