-- Tasks that failed in the last $1 seconds, and those that back off, by what went wrong: the $5 largest groups. Looked at
-- are the newest $2 that failed for good and the newest $3 that back off; $4: buckets of a trend. A status is asked for as
-- a range, with all those of tasks_to_look_at, so that no other index has the order: by id alone, a plan made while there
-- were many would go through the whole table for a few.
WITH failed AS MATERIALIZED (
    SELECT id, failure, crew, queue, finished_at AS at, calls, unpriced_calls, cost
    FROM crewtop.tasks
    WHERE status IN ('failed', 'cancelled', 'waiting', 'retry') AND status BETWEEN 'failed' AND 'failed'
    ORDER BY status, id DESC LIMIT $2
), resting AS MATERIALIZED (
    SELECT t.id, failure, crew, queue, coalesce(r.finished_at, t.created_at) AS at, calls, unpriced_calls, cost
    FROM (SELECT id, failure, crew, queue, created_at, run_id, calls, unpriced_calls, cost
          FROM crewtop.tasks
          WHERE status IN ('failed', 'cancelled', 'waiting', 'retry') AND status BETWEEN 'retry' AND 'retry'
          ORDER BY status, id DESC LIMIT $3) AS t
    LEFT JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
), alike AS MATERIALIZED (
    SELECT true AS over, * FROM failed WHERE at > now() - make_interval(secs => $1) AND failure IS NOT NULL
    UNION ALL
    SELECT false, * FROM resting WHERE failure IS NOT NULL
), groups AS MATERIALIZED (
    SELECT failure, count(*) FILTER (WHERE over) AS failed, count(*) FILTER (WHERE NOT over) AS retrying,
           min(at) AS first_at, max(at) AS last_at, max(ARRAY[extract(epoch FROM at)::float8, id]) AS newest,
           sum(calls) AS calls, sum(unpriced_calls) AS unpriced, sum(cost) AS cost
    FROM alike GROUP BY failure
), shown AS MATERIALIZED (
    SELECT * FROM groups ORDER BY failed + retrying DESC, last_at DESC LIMIT $5
), places AS (
    SELECT failure, array_agg(DISTINCT crew) AS crews, array_agg(DISTINCT queue) AS queues
    FROM (SELECT DISTINCT failure, crew, queue FROM alike) AS place GROUP BY failure
), trends AS (
    SELECT failure, json_object_agg(bucket, n) AS trend
    FROM (SELECT failure, floor(extract(epoch FROM now() - at)::float8 * $4::integer / $1)::integer AS bucket, count(*) AS n
          FROM alike WHERE over GROUP BY 1, 2) AS bar
    GROUP BY failure
)
SELECT now() AS at, (SELECT count(*) FROM failed) AS failed_looked_at, (SELECT count(*) FROM resting) AS resting_looked_at,
       (SELECT count(*) FROM groups) AS groups, g.*
FROM (SELECT) AS always LEFT JOIN (
    SELECT *, newest[2]::bigint AS sample_task, (SELECT error FROM crewtop.tasks WHERE id = newest[2]::bigint) AS sample
    FROM shown JOIN places USING (failure) LEFT JOIN trends USING (failure)
    ORDER BY failed + retrying DESC, last_at DESC
) AS g ON true
