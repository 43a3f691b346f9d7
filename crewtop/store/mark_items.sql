-- Tasks $2 of operation $1 are done with, in words $3.
UPDATE crewtop.operation_items SET done = true, outcome = $3 WHERE operation_id = $1 AND task_id = ANY ($2::bigint[])
