-- Operation $1, or with NULL the newest $2 of all.
SELECT * FROM crewtop.operations WHERE $1::bigint IS NULL OR id = $1 ORDER BY id DESC LIMIT $2
