-- Tasks $2 wait for tasks $1, whose results they get under names $3.
INSERT INTO crewtop.task_dependencies (depends_on, task_id, name)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])
