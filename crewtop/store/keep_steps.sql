-- Enter steps 1 to position of an earlier run of the same task as kept by this one, under the fence: a run that lost its
-- lease keeps none. Their outputs stay where they are, so that many short runs do not store them many times.
INSERT INTO crewtop.steps
    (run_id, position, task_id, name, agent, description, status, started_at, seconds, resumed_from)
SELECT r.run_id, s.position, s.task_id, s.name, s.agent, s.description, s.status, s.started_at, s.seconds,
       coalesce(s.resumed_from, s.run_id)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::smallint[]) AS r (run_id, task_id, from_run, position)
JOIN crewtop.tasks AS t ON t.id = r.task_id AND t.run_id = r.run_id AND t.status = 'running'
JOIN crewtop.steps AS s
  ON s.run_id = r.from_run AND s.task_id = r.task_id AND s.position <= r.position AND s.status = 'completed'
ON CONFLICT (run_id, position) DO NOTHING
