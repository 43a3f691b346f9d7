-- Lock repricing $1, if it is not through yet: any process may carry it on, but one at a time.
SELECT * FROM crewtop.repricings WHERE id = $1 AND ended_at IS NULL FOR NO KEY UPDATE
