-- Forget calls that were let out and told nothing of themselves: they never went out, or others were made for them.
DELETE FROM crewtop.llm_calls AS c
USING unnest($1::bigint[], $2::text[]) AS r (run_id, call_id)
WHERE c.run_id = r.run_id AND c.run_id = ANY ($1) AND c.call_id = r.call_id AND c.outcome = 'started'
