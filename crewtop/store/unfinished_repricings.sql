-- Repricings that are under way, or were left alone, oldest first.
SELECT id FROM crewtop.repricings WHERE ended_at IS NULL ORDER BY id
