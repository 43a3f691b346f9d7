-- Operation $1, locked while its undoing is recorded; late: it is older than $2.
SELECT *, now() - at > $2 AS late FROM crewtop.operations WHERE id = $1 FOR NO KEY UPDATE
