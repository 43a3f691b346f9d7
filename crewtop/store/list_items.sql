-- What became of the tasks of operation $1, the first $2 of them; of the refused ones alone if $3.
SELECT task_id, done, outcome FROM crewtop.operation_items
WHERE operation_id = $1 AND (NOT $3::boolean OR done = false) ORDER BY task_id LIMIT $2
