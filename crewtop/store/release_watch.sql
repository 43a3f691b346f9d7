-- Worker $1 judges no more: the next one need not wait for it.
UPDATE crewtop.alert_watch SET worker_id = NULL, until = '-infinity', since = '-infinity', delivers = false WHERE worker_id = $1
