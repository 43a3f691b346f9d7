-- Give calls another price, where they still have the old one, and correct by the difference what was added up from them:
-- their tasks, the rollups of the time when they ended, and the sums of repricing $1.
WITH change AS MATERIALIZED (
    SELECT * FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::numeric[], $6::text[], $7::numeric[], $8::text[])
         AS r (run_id, call_id, task_id, old_cost, old_source, new_cost, new_source)
), locked AS MATERIALIZED (
    -- Before their calls, as whoever deletes tasks locks them.
    SELECT id, queue, crew FROM crewtop.tasks WHERE id = ANY ($4) ORDER BY id FOR NO KEY UPDATE
), written AS (
    UPDATE crewtop.llm_calls AS c SET cost = r.new_cost, price_source = r.new_source
    FROM change AS r JOIN locked AS t ON t.id = r.task_id
    WHERE c.run_id = r.run_id AND c.call_id = r.call_id
      AND c.cost IS NOT DISTINCT FROM r.old_cost AND c.price_source = r.old_source
    RETURNING c.task_id, t.queue, t.crew, c.ended_at, coalesce(c.provider, '') AS provider, c.model, r.old_cost, r.new_cost,
              r.new_cost - coalesce(r.old_cost, 0) AS difference, (r.old_cost IS NULL)::integer AS unknown,
              left(r.old_source, 200) AS old_source, left(r.new_source, 200) AS new_source
), charged AS (
    UPDATE crewtop.tasks AS t SET cost = t.cost + d.difference, unpriced_calls = t.unpriced_calls - d.unknown
    FROM (SELECT task_id, sum(difference) AS difference, sum(unknown) AS unknown
          FROM written GROUP BY task_id) AS d
    WHERE t.id = d.task_id
), rolled AS (
    INSERT INTO crewtop.model_stats (at, queue, crew, provider, model, unpriced, cost)
    SELECT date_bin('10 seconds', ended_at, 'epoch'), queue, crew, provider, model, -sum(unknown), sum(difference)
    FROM written
    GROUP BY 1, queue, crew, provider, model HAVING sum(unknown) <> 0 OR sum(difference) <> 0
)
INSERT INTO crewtop.repricing_sums AS s (repricing_id, provider, model, old_source, new_source, calls, unknown, before, after)
SELECT $1, provider, model, old_source, new_source, count(*), sum(unknown), coalesce(sum(old_cost), 0), sum(new_cost)
FROM written GROUP BY provider, model, old_source, new_source
ON CONFLICT (repricing_id, provider, model, old_source, new_source) DO UPDATE
SET calls = s.calls + excluded.calls, unknown = s.unknown + excluded.unknown, before = s.before + excluded.before,
    after = s.after + excluded.after
