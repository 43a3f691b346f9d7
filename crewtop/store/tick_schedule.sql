-- Move schedule $1 on from tick $2, which has come, to $3, and put in $4 tasks for the ticks up to $5: of crew $6, in
-- queue $7 at priority $8, with inputs $9 and at most $10 attempts. Whoever moves it on puts them in, in one statement:
-- everybody else finds that $2 is no longer its next tick. Answers the tasks' ids.
WITH come AS MATERIALIZED (
    SELECT name FROM crewtop.schedules WHERE name = $1 AND next_at = $2 AND next_at <= clock_timestamp()
    FOR NO KEY UPDATE
), new_queue AS (
    INSERT INTO crewtop.queues (name) SELECT $7 FROM come WHERE $4 > 0 ON CONFLICT DO NOTHING
), put AS (
    INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, max_attempts, schedule)
    SELECT $7, $6, $8, 'pending', $9::text::json, $10, come.name FROM come CROSS JOIN generate_series(1, $4::integer)
    RETURNING id
), moved AS (
    UPDATE crewtop.schedules AS s
    SET next_at = $3, last_at = coalesce($5, s.last_at), last_task = coalesce((SELECT max(id) FROM put), s.last_task)
    FROM come WHERE s.name = come.name
)
SELECT id FROM put ORDER BY id
