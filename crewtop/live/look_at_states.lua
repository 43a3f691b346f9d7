-- Where tasks stand, as far as Redis knows. A task of which it knows nothing is marked: whoever reads it from Postgres
-- then may fill it in (fill_state.lua), unless somebody has told of a change of it meanwhile.
-- KEYS 1 hash of how often it knew, then a task each   ARGV 1 mark, 2 milliseconds that it stands, 3 that counts are kept

local found, hits = {}, 0
for i = 2, #KEYS do
  local state = redis.call('GET', KEYS[i])
  if not state then
    state = ARGV[1]
    redis.call('SET', KEYS[i], state, 'PX', ARGV[2])
  elseif string.sub(state, 1, 1) ~= '?' then
    hits = hits + 1
  end
  found[i - 1] = state
end
redis.call('HINCRBY', KEYS[1], 'hits', hits)
redis.call('HINCRBY', KEYS[1], 'misses', #KEYS - 1 - hits)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return found
