-- Calls that never got an answer because their run ended ($1, or NULL: every run that ended over $2 seconds ago):
-- killed, at a cost that nobody knows.
WITH killed AS (
    UPDATE crewtop.llm_calls AS c
    SET outcome = 'killed', seconds = greatest(0, extract(epoch FROM now() - c.started_at)), ended_at = now(),
        price_source = 'unknown: the run ended before the answer'
    FROM crewtop.runs AS r
    WHERE c.outcome = 'started' AND r.task_id = c.task_id AND r.id = c.run_id AND r.outcome <> 'running'
      AND (c.run_id = ANY ($1::bigint[])
           OR $1 IS NULL AND r.finished_at < now() - make_interval(secs => $2))
    RETURNING c.task_id, c.provider, c.model
), locked AS MATERIALIZED (
    SELECT id, queue, crew FROM crewtop.tasks WHERE id IN (SELECT task_id FROM killed) ORDER BY id FOR NO KEY UPDATE
), charged AS (
    UPDATE crewtop.tasks AS t
    SET calls = t.calls + k.n, unpriced_calls = t.unpriced_calls + k.n
    FROM (SELECT task_id, count(*) AS n FROM killed JOIN locked ON id = task_id GROUP BY task_id) AS k
    WHERE t.id = k.task_id
)
INSERT INTO crewtop.model_stats (queue, crew, provider, model, calls, errors, unpriced)
SELECT l.queue, l.crew, coalesce(k.provider, ''), k.model, count(*), count(*), count(*)
FROM killed AS k JOIN locked AS l ON l.id = k.task_id
GROUP BY l.queue, l.crew, k.provider, k.model
