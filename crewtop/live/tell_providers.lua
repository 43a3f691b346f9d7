-- What one worker says of its providers, stamped by Redis's own clock.
-- KEYS 1 hash: worker -> {at, told}   ARGV 1 worker, 2 what it says as JSON, '' nothing, 3 milliseconds for which it is true
-- Those that died are swept a few at a time, so that the hash stays as large as there are workers.

local LOOKED_AT = 4
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

for _, worker in ipairs(redis.call('HRANDFIELD', KEYS[1], LOOKED_AT)) do
  local at = string.match(redis.call('HGET', KEYS[1], worker), '^{"at": (%d+)')
  if not at or tonumber(at) < now - ARGV[3] then redis.call('HDEL', KEYS[1], worker) end
end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], string.format('{"at": %.0f, "told": %s}', now, ARGV[2]))
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
