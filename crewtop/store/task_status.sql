-- Where task $1 stands.
SELECT version, status FROM crewtop.tasks WHERE id = $1
