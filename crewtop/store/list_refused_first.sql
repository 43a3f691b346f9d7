-- What became of the tasks of operation $1, $2 of them at most: first those that were refused, of which so many are looked
-- for as there are.
SELECT task_id, done, outcome
FROM (
    (SELECT task_id, done, outcome FROM crewtop.operation_items
     WHERE operation_id = $1 AND done = false
     ORDER BY task_id LIMIT (SELECT least($2, refused) FROM crewtop.operations WHERE id = $1))
    UNION ALL
    (SELECT task_id, done, outcome FROM crewtop.operation_items
     WHERE operation_id = $1 AND done IS DISTINCT FROM false
     ORDER BY task_id LIMIT $2)
) AS item
ORDER BY done IS DISTINCT FROM false, task_id LIMIT $2
