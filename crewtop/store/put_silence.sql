-- Silence alerts of rules like $1 on subjects like $2 for $3 seconds (NULL: until alert $4 ends), by $5, because of $6.
INSERT INTO crewtop.silences (rule, subject, until, alert_id, actor, reason)
VALUES ($1, $2, now() + make_interval(secs => $3), CASE WHEN $3::float8 IS NULL THEN $4::uuid END, $5, $6)
RETURNING id, at, rule, subject, until, alert_id, actor, reason
