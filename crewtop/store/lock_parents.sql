-- Which of tasks $1 are cancelled, or about to be: nothing more is to come from them. Locked, so that a cancelling that is on
-- its way is waited for, and one that comes later finds what they fanned out.
SELECT id FROM (
    SELECT id, status = 'cancelled' OR cancel_requested_at IS NOT NULL AND status = 'running' AS over
    FROM crewtop.tasks WHERE id = ANY ($1::bigint[]) ORDER BY id FOR SHARE) AS parent
WHERE over
