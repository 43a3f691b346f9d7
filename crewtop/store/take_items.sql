-- Lock operation $1, if it is to go on, and the tasks of its next $2 items in the order of their ids.
WITH operation AS MATERIALIZED (
    SELECT * FROM crewtop.operations WHERE id = $1 AND state = 'running' FOR NO KEY UPDATE
), item AS MATERIALIZED (
    SELECT i.task_id
    FROM operation AS o CROSS JOIN LATERAL (
        SELECT task_id FROM crewtop.operation_items
        WHERE operation_id = o.id AND task_id > o.reached ORDER BY task_id LIMIT $2) AS i
), locked AS MATERIALIZED (
    SELECT t.id
    FROM (SELECT task_id FROM item ORDER BY task_id) AS i
    CROSS JOIN LATERAL (SELECT id FROM crewtop.tasks WHERE id = i.task_id FOR NO KEY UPDATE) AS t
)
SELECT o.action, o.actor, o.undoes, u.action AS undone,
       ARRAY(SELECT task_id FROM item ORDER BY task_id) AS ids, (SELECT count(*) FROM locked) AS locked
FROM operation AS o LEFT JOIN crewtop.operations AS u ON u.id = o.undoes
