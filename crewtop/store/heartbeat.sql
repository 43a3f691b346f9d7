-- Worker $1 is alive: extend the leases of all its runs $2 by $3 seconds, write its row, bring back its orders.
-- A task that an operator moved on, or that was rescued, is not among the held ones. A row that somebody keeps locked
-- must not cost the other runs their leases: it is looked at, and extended the next time.
WITH beat AS (
    INSERT INTO crewtop.workers AS w
        (id, host, pid, boot_id, crewtop, queues, crews, slots, busy, lease_seconds, cpu_percent, memory_bytes, draining,
         drain_ends_at, clock_offset_seconds)
    VALUES ($1, $4, $5, $6, $7, $8, $9, $10, $11, $3, $12, $13, $14, now() + make_interval(secs => $16), $17)
    ON CONFLICT (id) DO UPDATE
    SET heartbeat_at = now(), slots = excluded.slots, busy = excluded.busy, crews = excluded.crews,
        queues = excluded.queues, cpu_percent = excluded.cpu_percent, memory_bytes = excluded.memory_bytes,
        draining = w.draining OR excluded.draining, drain_ends_at = excluded.drain_ends_at,
        clock_offset_seconds = excluded.clock_offset_seconds, stopped_at = NULL
    RETURNING desired_slots, draining, killed
), held AS MATERIALIZED (
    SELECT t.id, t.run_id, t.cancel_requested_at
    FROM unnest($2::bigint[], $15::bigint[]) AS h (run_id, task_id)
    CROSS JOIN LATERAL (
        SELECT id, run_id, cancel_requested_at FROM crewtop.tasks
        WHERE id = h.task_id AND id = ANY ($15) AND run_id = h.run_id AND status = 'running'
    ) AS t
), free AS MATERIALIZED (
    SELECT id FROM crewtop.tasks
    WHERE id = ANY (ARRAY(SELECT id FROM held)) AND status = 'running' AND run_id = ANY ($2)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
), extended AS (
    UPDATE crewtop.tasks AS t
    SET lease_expires_at = now() + make_interval(secs => $3)
    WHERE t.id = ANY (ARRAY(SELECT id FROM free))
)
SELECT b.desired_slots, b.draining, b.killed, extract(epoch FROM now())::float8 AS at,
       ARRAY(SELECT run_id FROM held) AS held,
       ARRAY(SELECT run_id FROM held WHERE cancel_requested_at IS NOT NULL) AS cancelling
FROM beat AS b
