-- Lock the budgets that have not been judged for $1 seconds, but for those that another worker judges now.
SELECT scope, name FROM crewtop.budgets
WHERE judged_at IS NULL OR judged_at <= now() - make_interval(secs => $1)
ORDER BY scope, name FOR NO KEY UPDATE SKIP LOCKED
