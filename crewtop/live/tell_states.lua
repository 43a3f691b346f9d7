-- What became of tasks, told after the commit. Only where somebody has asked for a task lately is there anything to
-- change. A newer version replaces an older one, never the other way round; a mark goes, since what its reader is about
-- to fill in may be older than this.
-- KEYS a task each   ARGV 1 channel that ends are told on, 2 the ids of those that ended or are gone, '' none,
-- 3 milliseconds that a state is true for, 4 an end; then for each task '<version> <status>', '' for one of which nothing
-- that was known holds

local ended = { completed = true, failed = true, cancelled = true }
for i, key in ipairs(KEYS) do
  local old = redis.call('GET', key)
  if old then
    local state = ARGV[i + 4]
    local version, status = string.match(state, '^(%d+) (%a+)$')
    local known = string.match(old, '^(%d+) ')
    if not version or not known then
      redis.call('DEL', key)
    elseif tonumber(known) < tonumber(version) then
      redis.call('SET', key, state, 'PX', ended[status] and ARGV[4] or ARGV[3])
    end
  end
end
if ARGV[2] ~= '' then redis.call('PUBLISH', ARGV[1], ARGV[2]) end
