-- Why tasks of operation $1 were refused, the most frequent reason first.
SELECT refusal, count(*) AS n FROM crewtop.operation_items
WHERE operation_id = $1 AND done = false GROUP BY refusal ORDER BY n DESC, refusal
