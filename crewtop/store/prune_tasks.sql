-- Of the $2 tasks after id $1, those whose keeping is over: ended with a status of $3 for longer than its seconds in $4.
-- There is no index on finished_at on purpose, since every end would have to write it: the table is gone through from
-- its old end by id, and place says how far it was; NULL at the first task that is too young to be over, or at the end.
-- What another task still needs stays, and so does what somebody else works on.
WITH keeping AS (
    SELECT * FROM unnest($3::text[], $4::float8[]) AS k (status, seconds)
), looked AS MATERIALIZED (
    SELECT id, created_at FROM crewtop.tasks WHERE id > $1 ORDER BY id LIMIT $2
), over AS MATERIALIZED (
    SELECT t.id
    FROM crewtop.tasks AS t JOIN keeping AS k USING (status)
    WHERE t.id = ANY (ARRAY(SELECT id FROM looked)) AND t.finished_at < now() - make_interval(secs => k.seconds)
      -- A dependent is handed the result when it starts, and again when it is retried.
      AND NOT EXISTS (
          SELECT FROM crewtop.task_dependencies AS d JOIN crewtop.tasks AS dependent ON dependent.id = d.task_id
          WHERE d.depends_on = t.id AND (NOT d.settled OR dependent.finished_at IS NULL))
      AND NOT EXISTS (SELECT FROM crewtop.tasks AS child WHERE child.parent_id = t.id AND child.finished_at IS NULL)
    ORDER BY t.id
    FOR UPDATE OF t SKIP LOCKED
)
SELECT ARRAY(SELECT id FROM over) AS ids,
       (SELECT max(id) FROM looked HAVING count(*) = $2
               AND max(created_at) < now() - make_interval(secs => (SELECT min(seconds) FROM keeping))) AS place
