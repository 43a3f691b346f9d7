-- Forget alerts $1, which were pending and came to nothing.
DELETE FROM crewtop.alerts WHERE id = ANY ($1::uuid[]) AND state = 'pending'
