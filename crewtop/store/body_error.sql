-- The first $3 characters of the error of run $2 of task $1, and its whole size in bytes.
SELECT left(error::text, $3) AS text, octet_length(error::text) AS size FROM crewtop.runs WHERE id = $2 AND task_id = $1
