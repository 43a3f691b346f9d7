-- Put tasks into their queues, which are made on the way. Answers ids in the order of the input.
WITH new_queues AS (
    INSERT INTO crewtop.queues (name) SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING
), input AS (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::integer[], $6::timestamptz[],
                $7::smallint[], $8::float8[])
         WITH ORDINALITY AS i (queue, crew, priority, inputs, inputs_replaced, run_at, max_attempts, budget_seconds, place)
), inserted AS (
    INSERT INTO crewtop.tasks
        (queue, crew, priority, status, inputs, inputs_replaced, run_at, max_attempts, budget_seconds)
    SELECT queue, crew, priority, 'pending', inputs::json, inputs_replaced, greatest(run_at, now()), max_attempts, budget_seconds
    FROM input ORDER BY place
    RETURNING id, version, status
), history AS (
    INSERT INTO crewtop.task_history (task_id, version, new_status, actor)
    SELECT id, version, status, 'producer' FROM inserted
)
SELECT id FROM inserted ORDER BY id
