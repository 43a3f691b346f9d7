-- The runs of task $1, newest first, with the first $2 characters of each long text.
SELECT id, worker_id, outcome, claimed_at, waited_seconds, finished_at, seconds, error_type, late, replaced,
       left(result::text, $2) AS result, octet_length(result::text) AS result_size,
       left(error, $2) AS error, octet_length(error) AS error_size,
       left(traceback, $2) AS traceback, octet_length(traceback) AS traceback_size,
       left(log_tail, $2) AS log_tail, octet_length(log_tail) AS log_tail_size
FROM crewtop.runs WHERE task_id = $1 ORDER BY id DESC LIMIT 100
