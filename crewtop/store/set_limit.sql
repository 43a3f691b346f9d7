-- Limit queue or crew ($1) $2 to $3 running at once and $4 starts a minute (NULL: not limited so). The token bucket
-- begins with what is in it, at most a minute's starts.
INSERT INTO crewtop.limits AS l (scope, name, max_running, rate_per_minute)
VALUES ($1, $2, $3, $4)
ON CONFLICT (scope, name) DO UPDATE
SET max_running = excluded.max_running, rate_per_minute = excluded.rate_per_minute,
    tokens = least(l.tokens, coalesce(excluded.rate_per_minute, 0))
