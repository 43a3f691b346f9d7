-- The first $3 characters of the inputs of task $1 ($2 is unused: inputs belong to no run), and their whole size in bytes.
SELECT left(inputs::text, $3) AS text, octet_length(inputs::text) AS size
FROM crewtop.tasks WHERE id = $1 AND ($2::bigint IS NULL OR true)
