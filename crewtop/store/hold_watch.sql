-- Whether worker $1 still judges alerts; nobody else can begin to before this transaction ends.
SELECT true FROM crewtop.alert_watch WHERE worker_id = $1 AND until > clock_timestamp() FOR NO KEY UPDATE
