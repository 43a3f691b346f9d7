-- Running operations that nobody has worked off for $1 seconds.
SELECT id FROM crewtop.operations
WHERE state = 'running' AND worked_at < now() - make_interval(secs => $1) ORDER BY id
