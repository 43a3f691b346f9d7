-- What the newest run of task $1 before run $2 that completed its first step had completed, by position, with the outputs
-- from where they are. Of one run alone: in another, the same step may have met other answers.
WITH newest AS (
    SELECT s.run_id
    FROM crewtop.tasks AS t
    JOIN crewtop.runs AS r ON r.task_id = t.id AND r.id < $2 AND r.id > coalesce(t.steps_since, 0)
    JOIN crewtop.steps AS s ON s.run_id = r.id AND s.position = 1 AND s.status = 'completed'
    WHERE t.id = $1
    ORDER BY r.id DESC LIMIT 1
)
SELECT kept.run_id, kept.position, done.output, done.receipt::text
FROM newest
JOIN crewtop.steps AS kept USING (run_id)
JOIN crewtop.steps AS done
  ON done.run_id = coalesce(kept.resumed_from, kept.run_id) AND done.position = kept.position
WHERE kept.status = 'completed'
ORDER BY kept.position
