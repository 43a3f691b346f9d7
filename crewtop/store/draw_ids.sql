-- Ids for $1 tasks that name each other before they are written.
SELECT nextval('crewtop.tasks_id_seq') AS id FROM generate_series(1, $1)
