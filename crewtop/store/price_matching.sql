-- What an action on statuses $1 would reach: those that match a filter (the where mark), as they stood at $2 (NULL: now).
-- What has come to match since is only counted. The cost is that of an attempt at each, on average over its attempts.
WITH matching AS MATERIALIZED (
    SELECT t.id, t.status, t.calls, t.unpriced_calls,
           t.cost / greatest(1, t.failed_runs + (t.status IN ('running', 'completed'))::integer) AS cost,
           greatest(t.created_at, (SELECT at FROM crewtop.task_history WHERE task_id = t.id AND version = t.version))
               > $2 AS newcomer
    FROM crewtop.tasks AS t
    WHERE t.status = ANY ($1::text[])
      AND /* where */
), seen AS MATERIALIZED (
    SELECT * FROM matching WHERE newcomer IS NOT TRUE
)
SELECT coalesce($2::timestamptz, now()) AS at,
       (SELECT json_object_agg(status, n) FROM (SELECT status, count(*) AS n FROM seen GROUP BY status) AS s)::text AS statuses,
       ARRAY(SELECT id FROM seen ORDER BY id DESC LIMIT 10) AS sample,
       (SELECT count(*) FROM matching) - (SELECT count(*) FROM seen) AS newcomers,
       (SELECT coalesce(sum(n), 0) FROM crewtop.depth WHERE status = ANY ($1))::bigint
           - (SELECT count(*) FROM matching) AS others,
       s.*
FROM (SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(unpriced_calls), 0) AS unpriced_calls,
             coalesce(sum(calls), 0) AS calls
      FROM seen) AS s
