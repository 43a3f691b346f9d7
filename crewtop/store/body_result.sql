-- The first $3 characters of the result of run $2 of task $1, and its whole size in bytes.
SELECT left(result::text, $3) AS text, octet_length(result::text) AS size FROM crewtop.runs WHERE id = $2 AND task_id = $1
