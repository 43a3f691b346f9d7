-- Free slots whose run is over, by whatever way that its end forgot them. Compared with the run that was seen: a slot that
-- was given away since then is another's.
WITH left_over AS MATERIALIZED (
    SELECT s.scope, s.name, s.n, s.run_id
    FROM crewtop.slots AS s
    WHERE s.run_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM crewtop.tasks AS t WHERE t.status = 'running' AND t.run_id = s.run_id)
)
UPDATE crewtop.slots AS s SET run_id = NULL
FROM left_over AS l
WHERE s.scope = l.scope AND s.name = l.name AND s.n = l.n AND s.run_id = l.run_id
