-- What became of the tasks of operation $1, the first $2 of them.
SELECT task_id, done, outcome FROM crewtop.operation_items WHERE operation_id = $1 ORDER BY task_id LIMIT $2
