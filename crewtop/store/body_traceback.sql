-- The first $3 characters of the traceback of run $2 of task $1, and its whole size in bytes.
SELECT left(traceback::text, $3) AS text, octet_length(traceback::text) AS size FROM crewtop.runs WHERE id = $2 AND task_id = $1
