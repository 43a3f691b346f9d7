-- Where task $1 stands.
SELECT status FROM crewtop.tasks WHERE id = $1
