-- Forget budgets that no worker has had in its configuration for $1 seconds.
DELETE FROM crewtop.budgets WHERE seen_at < now() - make_interval(secs => $1)
