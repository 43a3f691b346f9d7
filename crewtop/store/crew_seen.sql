-- Whether any worker that is remembered, alive or not, has crew $1.
SELECT EXISTS (SELECT FROM crewtop.workers WHERE $1 = ANY (crews)) AS seen
