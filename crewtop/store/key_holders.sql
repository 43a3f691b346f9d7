-- Which tasks hold keys $2 of crews $1 in the present window of $3 seconds (NULL: without end).
SELECT i.place, t.id
FROM unnest($1::text[], $2::text[], $3::float8[]) WITH ORDINALITY AS i (crew, key, seconds, place)
JOIN crewtop.tasks AS t
  ON t.crew = i.crew AND t.key = i.key AND t.key_window = crewtop.key_window(i.seconds)
 AND t.key IS NOT NULL AND (t.key_scope = 'always' OR t.status IN ('waiting', 'pending', 'running', 'retry')
                            OR t.key_scope = 'completed' AND t.status = 'completed')
