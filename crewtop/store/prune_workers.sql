-- Forget workers that nobody has heard of for $1 seconds.
DELETE FROM crewtop.workers WHERE heartbeat_at < now() - make_interval(secs => $1)
