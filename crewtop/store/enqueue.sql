-- Put tasks into their queues, which are made on the way: inputs $8 (a JSON array), each of the kind whose number $9
-- names (without numbers: all of the first). Answers ids in the order of the input.
WITH new_queues AS (
    INSERT INTO crewtop.queues (name) SELECT DISTINCT unnest($2::text[]) ON CONFLICT DO NOTHING
)
INSERT INTO crewtop.tasks (crew, queue, priority, status, run_at, max_attempts, budget_seconds, inputs_replaced, inputs)
SELECT ($1::text[])[n], ($2::text[])[n], ($3::smallint[])[n], 'pending', greatest(($4::timestamptz[])[n], now()),
       ($5::smallint[])[n], ($6::float8[])[n], ($7::integer[])[n], inputs
FROM (SELECT inputs, coalesce(($9::smallint[])[place], 1) AS n
      FROM json_array_elements($8::json) WITH ORDINALITY AS i (inputs, place)) AS task
RETURNING id
