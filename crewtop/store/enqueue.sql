-- Put tasks into their queues, which are made on the way. Answers ids in the order of the input.
WITH new_queues AS (
    INSERT INTO crewtop.queues (name) SELECT DISTINCT unnest($3::text[]) ON CONFLICT DO NOTHING
)
INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, inputs_replaced, run_at, max_attempts, budget_seconds)
SELECT queue, crew, priority, 'pending', inputs::json, inputs_replaced, greatest(run_at, now()), max_attempts, budget_seconds
FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::timestamptz[], $6::smallint[], $7::float8[],
            $8::integer[])
     AS i (crew, inputs, queue, priority, run_at, max_attempts, budget_seconds, inputs_replaced)
RETURNING id
