-- The worker that judges alerts for all, if any does, and whether it delivers them.
SELECT worker_id, delivers FROM crewtop.alert_watch WHERE worker_id IS NOT NULL AND until > clock_timestamp()
