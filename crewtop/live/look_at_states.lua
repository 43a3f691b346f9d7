-- Where tasks stand, as far as Redis knows, a line each: one text is read much faster than many. A task of which it
-- knows nothing is marked: whoever reads it from Postgres then may fill it in (fill_state.lua), unless somebody has told
-- of a change of it meanwhile.
-- KEYS 1 what the tasks' keys begin with, 2 hash of how often it knew
-- ARGV 1 mark, 2 milliseconds that it stands, 3 that counts are kept, 4 the tasks' ids, parted by blanks,
-- 5 how often the reader knew by itself since it last asked

local found, hits, known = {}, 0, tonumber(ARGV[5])
for id in string.gmatch(ARGV[4], '%S+') do
  local key = KEYS[1] .. id
  local state = redis.call('GET', key)
  if not state then
    state = ARGV[1]
    redis.call('SET', key, state, 'PX', ARGV[2])
  elseif string.sub(state, 1, 1) ~= '?' then
    hits = hits + 1
  end
  found[#found + 1] = state
end
redis.call('HINCRBY', KEYS[2], 'hits', hits + known)
redis.call('HINCRBY', KEYS[2], 'misses', #found - hits)
if redis.call('PTTL', KEYS[2]) < 0 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
return table.concat(found, '\n')
