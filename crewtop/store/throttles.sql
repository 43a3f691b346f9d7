-- Crews whose tasks are held back, since their provider said 429.
SELECT crew, provider, extract(epoch FROM until - now())::float8 AS seconds_left
FROM crewtop.throttles WHERE until > now() ORDER BY crew LIMIT 100
