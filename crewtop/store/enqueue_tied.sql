-- Put tasks with keys, dependencies or parents into their queues, under ids that were drawn before. Answers the ids that
-- are new: the others' keys are held by other tasks.
WITH new_queues AS (
    INSERT INTO crewtop.queues (name) SELECT DISTINCT unnest($3::text[]) ON CONFLICT DO NOTHING
)
INSERT INTO crewtop.tasks
    (id, queue, crew, priority, status, inputs, inputs_replaced, run_at, max_attempts, budget_seconds, key, key_scope,
     key_window, dependencies, waiting_for, on_failure, parent_id)
OVERRIDING SYSTEM VALUE
SELECT id, queue, crew, priority, CASE WHEN dependencies > 0 THEN 'waiting' ELSE 'pending' END, inputs::json,
       inputs_replaced, greatest(run_at, now()), max_attempts, budget_seconds, key, key_scope,
       crewtop.key_window(key_seconds), dependencies, dependencies, on_failure, parent_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::timestamptz[], $6::smallint[], $7::float8[],
            $8::integer[], $9::bigint[], $10::text[], $11::text[], $12::float8[], $13::integer[], $14::text[],
            $15::bigint[])
     AS i (crew, inputs, queue, priority, run_at, max_attempts, budget_seconds, inputs_replaced, id, key, key_scope,
           key_seconds, dependencies, on_failure, parent_id)
ON CONFLICT DO NOTHING
RETURNING id
