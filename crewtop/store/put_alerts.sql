-- Write these alerts ($1, JSON) as they stand now. What has ended stays as it is.
INSERT INTO crewtop.alerts AS a (id, rule, subject, watches, queue, severity, state, since, fired_at, clear_since, ended_at,
                                 words, value, told)
SELECT id, rule, subject, watches, queue, severity, state, since, fired_at, clear_since, ended_at, words, value, told
FROM json_populate_recordset(NULL::crewtop.alerts, $1::text::json) ORDER BY id
ON CONFLICT (id) DO UPDATE
SET watches = excluded.watches, queue = excluded.queue, severity = excluded.severity, state = excluded.state,
    fired_at = excluded.fired_at, clear_since = excluded.clear_since, ended_at = excluded.ended_at,
    words = excluded.words, value = excluded.value, told = excluded.told
WHERE a.state <> 'ended'
