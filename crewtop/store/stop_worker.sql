-- Worker $1 ended in good order.
UPDATE crewtop.workers SET stopped_at = now(), busy = 0 WHERE id = $1
