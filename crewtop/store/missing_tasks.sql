-- Which of tasks $1 do not exist.
SELECT i.id FROM unnest($1::bigint[]) AS i (id) WHERE NOT EXISTS (SELECT FROM crewtop.tasks WHERE id = i.id AND id = ANY ($1))
