-- Tasks that failed in the last $1 seconds, and those that back off, by what went wrong: the $5 largest groups. Looked at
-- are the newest $2 that failed for good and the newest $3 that back off, through tasks_to_look_at; $4: buckets of a trend.
WITH failed AS MATERIALIZED (
    SELECT id, failure, error, crew, queue, finished_at AS at, calls, unpriced_calls, cost
    FROM crewtop.tasks WHERE status = 'failed' ORDER BY id DESC LIMIT $2
), resting AS MATERIALIZED (
    SELECT t.id, failure, t.error, crew, queue, coalesce(r.finished_at, t.created_at) AS at
    FROM (SELECT id, failure, error, crew, queue, created_at, run_id
          FROM crewtop.tasks WHERE status = 'retry' ORDER BY id DESC LIMIT $3) AS t
    LEFT JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id = t.run_id
), alike AS MATERIALIZED (
    SELECT true AS over, * FROM failed WHERE at > now() - make_interval(secs => $1) AND failure IS NOT NULL
    UNION ALL
    SELECT false, id, failure, error, crew, queue, at, 0, 0, 0 FROM resting WHERE failure IS NOT NULL
), groups AS MATERIALIZED (
    SELECT failure, count(*) FILTER (WHERE over) AS failed, count(*) FILTER (WHERE NOT over) AS retrying,
           array_agg(DISTINCT crew) AS crews, array_agg(DISTINCT queue) AS queues,
           min(at) AS first_at, max(at) AS last_at,
           sum(calls) AS calls, sum(unpriced_calls) AS unpriced, sum(cost) AS cost
    FROM alike GROUP BY failure
), newest AS (
    SELECT DISTINCT ON (failure) failure, id AS sample_task, error AS sample
    FROM alike ORDER BY failure, at DESC, id DESC
), trends AS (
    SELECT failure, json_object_agg(bucket, n) AS trend
    FROM (SELECT failure, floor(extract(epoch FROM now() - at) * $4::integer / $1)::integer AS bucket, count(*) AS n
          FROM alike WHERE over GROUP BY 1, 2) AS bar
    GROUP BY failure
)
SELECT now() AS at, (SELECT count(*) FROM failed) AS failed_looked_at, (SELECT count(*) FROM resting) AS resting_looked_at,
       (SELECT count(*) FROM groups) AS groups, g.*
FROM (SELECT) AS always LEFT JOIN (
    SELECT * FROM groups JOIN newest USING (failure) LEFT JOIN trends USING (failure)
    ORDER BY failed + retrying DESC, last_at DESC LIMIT $5
) AS g ON true
