-- What became of tasks, told after the commit. Only where somebody has asked for a task lately is there anything to
-- change. A newer version replaces an older one, never the other way round; a mark goes, since what its reader is about
-- to fill in may be older than this.
-- KEYS 1 what the tasks' keys begin with   ARGV 1 channel for what somebody asked for and for ends, 2 milliseconds that a
-- state is true for, 3 an end; 4 what is told, a line each: '<id> <version> <status>', or '<id>' where nothing that was
-- known holds

local ended = { completed = true, failed = true, cancelled = true }
local news = {}
for id, version, status in string.gmatch(ARGV[4], '(%d+) ?(%d*) ?(%a*)\n') do
  local key = KEYS[1] .. id
  local old = redis.call('GET', key)
  if old then
    local known = tonumber(string.match(old, '^(%d+) '))
    if status == '' or not known then
      redis.call('DEL', key)
    elseif known < tonumber(version) then
      redis.call('SET', key, version .. ' ' .. status, 'PX', ended[status] and ARGV[3] or ARGV[2])
    end
  end
  if status == '' then
    news[#news + 1] = id
  elseif old or ended[status] then
    news[#news + 1] = id .. ' ' .. version .. ' ' .. status
  end
end
if #news > 0 then redis.call('PUBLISH', ARGV[1], table.concat(news, '\n')) end
