-- Make the places 1 to $3 of the limit of queue or crew ($1) $2, taken by what runs there already as far as they reach,
-- and remove the free ones beyond. Claims only look at places up to the limit.
WITH surplus AS (
    DELETE FROM crewtop.slots WHERE scope = $1 AND name = $2 AND n > $3 AND run_id IS NULL
), homeless AS (
    SELECT run_id, row_number() OVER (ORDER BY run_id) AS place
    FROM crewtop.tasks AS t
    WHERE status = 'running' AND CASE $1 WHEN 'queue' THEN queue ELSE crew END = $2
      AND NOT EXISTS (SELECT FROM crewtop.slots AS s WHERE s.run_id = t.run_id AND s.scope = $1)
), missing AS (
    SELECT n, row_number() OVER (ORDER BY n) AS place
    FROM generate_series(1, $3::integer) AS wanted (n)
    WHERE NOT EXISTS (SELECT FROM crewtop.slots WHERE scope = $1 AND name = $2 AND slots.n = wanted.n)
)
INSERT INTO crewtop.slots (scope, name, n, run_id)
SELECT $1, $2, m.n, h.run_id FROM missing AS m LEFT JOIN homeless AS h USING (place)
ON CONFLICT DO NOTHING
