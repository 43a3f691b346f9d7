-- Let tasks of queue $1 rise by one priority for every $2 seconds that they wait; NULL: never.
UPDATE crewtop.queues SET boost_seconds = $2 WHERE name = $1 RETURNING name
