-- Tasks $1 are about to be retried: what they depend on and is to run, or run again, counts in what they wait for once more.
WITH reopened AS (
    UPDATE crewtop.task_dependencies AS d SET settled = false
    FROM crewtop.tasks AS p
    WHERE d.task_id = ANY ($1::bigint[]) AND d.settled AND p.id = d.depends_on
      AND EXISTS (SELECT FROM crewtop.tasks WHERE id = d.task_id AND status IN ('failed', 'cancelled'))
      AND (p.status IN ('waiting', 'pending', 'running', 'retry') OR p.id = ANY ($1) AND p.status <> 'completed')
    RETURNING d.task_id
)
UPDATE crewtop.tasks AS t SET waiting_for = t.waiting_for + r.n
FROM (SELECT task_id, count(*) AS n FROM reopened GROUP BY task_id) AS r WHERE t.id = r.task_id
