-- The budgets that hold queue $1 back from every worker, the day's first.
SELECT now() AS at, scope, name, day, warn, pauses, judged_at, spent, unpriced, last_hour, held_until
FROM crewtop.standing_budgets
WHERE held_until IS NOT NULL AND (scope = 'total' OR scope = 'queue' AND name = $1)
ORDER BY scope = 'total' DESC
