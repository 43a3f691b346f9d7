-- Write calls that are about to go out, so that none is without a row whatever is killed. The commit does not wait for
-- the disk: what has to be outlived is the worker, not the server, and a provider's answer should not wait for a disk.
WITH quick AS (
    SELECT set_config('synchronous_commit', 'off', true)
)
INSERT INTO crewtop.llm_calls
    (run_id, call_id, task_id, step_position, provider, model, outcome, started_at, price_source, route,
     estimated_tokens, waited_seconds, key_tail)
SELECT r.run_id, r.call_id, r.task_id, r.step_position, r.provider, r.model, 'started', now(), r.price_source,
       r.route::json, r.estimated_tokens, r.waited_seconds, r.key_tail
FROM quick, unnest($1::bigint[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[], $7::text[],
                   $8::text[], $9::bigint[], $10::float8[], $11::text[])
         AS r (run_id, call_id, task_id, step_position, provider, model, price_source, route, estimated_tokens,
               waited_seconds, key_tail)
ON CONFLICT DO NOTHING
