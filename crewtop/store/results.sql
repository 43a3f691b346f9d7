-- Results of completed tasks that ended after $1, or then and with an id above $2, and not after $3, in that order: at most
-- $4 of them, and no more once they take $5 bytes on the disk. What else is asked for takes the mark's place.
WITH page AS MATERIALIZED (
    SELECT t.id, t.finished_at, t.crew, t.queue, t.key, t.run_id
    FROM crewtop.tasks AS t
    WHERE t.status = 'completed' AND (t.finished_at, t.id) > ($1, $2) AND t.finished_at <= $3 AND (/* where */)
    ORDER BY t.finished_at, t.id LIMIT $4
), sized AS (
    SELECT p.*, r.result, coalesce(sum(pg_column_size(r.result)) OVER (
               ORDER BY p.finished_at, p.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM page AS p LEFT JOIN crewtop.runs AS r ON r.task_id = p.id AND r.id = p.run_id
)
SELECT id, finished_at, crew, queue, key, coalesce(result::text, 'null') AS value
FROM sized WHERE before < $5 ORDER BY finished_at, id
