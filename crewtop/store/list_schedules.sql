-- Every schedule, with where the last task that it put in stands: NULL where that has been pruned.
SELECT now() AS at, s.name, s.definition::text AS definition, s.next_at, s.last_at, s.last_task, s.seen_at,
       t.status AS last_status
FROM crewtop.schedules AS s LEFT JOIN crewtop.tasks AS t ON t.id = s.last_task
ORDER BY s.name
