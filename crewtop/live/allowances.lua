-- One exchange of one worker about one provider's model: settles what ended, grants what fits, says when to ask again.
--
-- KEYS  1 workers (sorted set: worker -> end of its lease)   2 epoch (string: birth of this memory, end of its grace)
--       3 waiting (hash: worker -> priority requests tokens unserved-since seen)
--       then four for each allowance: state (hash), log (sorted set: call -> when it leaves the window),
--       held (hash: call -> tokens), flights (hash: worker -> calls in flight)
-- ARGV  1 the request as JSON, described in allowances.py. All times are milliseconds.
-- Every entry of a log is in held too; state keeps the sum of their tokens: nothing here walks a whole log.

local PURGED_AT_ONCE, LOOKED_AHEAD, SUMMED_AT_ONCE = 1000, 64, 4000
local request = cjson.decode(ARGV[1])
local me, tolerated = request.worker, request.tolerated
local clock = redis.call('TIME')
local now = request.now or clock[1] * 1000 + math.floor(clock[2] / 1000)

local function number(text) return tonumber(text or 0) or 0 end

-- Workers and the memory itself.

redis.call('ZADD', KEYS[1], now + request.lease, me)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. now)
local alive = {}
for _, worker in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do alive[worker] = true end

local epoch, grace = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) (%d+)$')
if not epoch then -- fresh, or all was lost: then those who remember get the time to tell it again
  epoch, grace = string.format('%d', now), string.format('%d', now + (request.remembers and request.grace or 0))
end
redis.call('SET', KEYS[2], epoch .. ' ' .. grace, 'PX', request.expires)

-- Allowances: what is used of each.

local function open(index, limits)
  local key = 3 + (index - 1) * 4
  local allowance = {state = KEYS[key + 1], log = KEYS[key + 2], held = KEYS[key + 3], flying = KEYS[key + 4]}
  local known = redis.call('HMGET', allowance.state, 'tokens', 'paused')
  allowance.requests = redis.call('ZCARD', allowance.log)
  allowance.tokens, allowance.paused = number(known[1]), number(known[2])
  if allowance.requests == 0 then
    redis.call('DEL', allowance.held)
    allowance.tokens = 0
  end
  allowance.limits, allowance.mine, allowance.others = limits, limits.flights, 0
  local flights = redis.call('HGETALL', allowance.flying)
  for i = 1, #flights, 2 do
    if not alive[flights[i]] then
      redis.call('HDEL', allowance.flying, flights[i])
    elseif flights[i] ~= me then
      allowance.others = allowance.others + number(flights[i + 1])
    end
  end
  return allowance
end

local function forget(allowance, calls)
  if #calls == 0 then return end
  for i, tokens in ipairs(redis.call('HMGET', allowance.held, unpack(calls))) do
    if tokens then
      allowance.requests, allowance.tokens = allowance.requests - 1, allowance.tokens - number(tokens)
    end
  end
  redis.call('HDEL', allowance.held, unpack(calls))
  redis.call('ZREM', allowance.log, unpack(calls))
end

local function enter(allowance, call, tokens, leaves)
  redis.call('HSET', allowance.held, call, tokens)
  redis.call('ZADD', allowance.log, leaves, call)
  allowance.requests, allowance.tokens = allowance.requests + 1, allowance.tokens + tokens
end

local function settle(allowance, settled)
  local tokens = redis.call('HGET', allowance.held, settled.call)
  if settled.pause then allowance.paused = math.max(allowance.paused, now + settled.pause) end
  if not tokens then return end
  if settled.unsent then return forget(allowance, {settled.call}) end
  -- The provider had it before it answered: the window begins then at the latest.
  redis.call('ZADD', allowance.log, 'XX', 'LT', now + request.settled_holds, settled.call)
  if settled.tokens then
    redis.call('HSET', allowance.held, settled.call, settled.tokens)
    allowance.tokens = allowance.tokens + settled.tokens - number(tokens)
  end
end

local allowances = {}
for i, limits in ipairs(request.allowances) do
  local allowance = open(i, limits)
  forget(allowance, redis.call('ZRANGEBYSCORE', allowance.log, '-inf', now, 'LIMIT', 0, PURGED_AT_ONCE))
  allowances[i] = allowance
end
for _, told in ipairs(request.told) do
  local allowance = allowances[told.allowance]
  if redis.call('HEXISTS', allowance.held, told.call) == 0 then
    enter(allowance, told.call, told.tokens, now + told.leaves)
  end
end
for _, settled in ipairs(request.settled) do
  for _, i in ipairs(settled.allowances) do settle(allowances[i], settled) end
end

-- Who of the others goes first.

local waiting, since = {}, now
local registered = redis.call('HGETALL', KEYS[3])
for i = 1, #registered, 2 do
  local priority, requests, tokens, unserved, seen =
    string.match(registered[i + 1], '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if number(seen) < now - request.fresh then
    redis.call('HDEL', KEYS[3], registered[i])
  elseif registered[i] == me then
    since = number(unserved)
  else
    table.insert(waiting, {priority = number(priority), requests = number(requests), tokens = number(tokens),
      since = number(unserved)})
  end
end

local function ahead(priority)
  local requests, tokens = 0, 0
  for _, other in ipairs(waiting) do
    if other.priority < priority or other.priority == priority and other.since < since - tolerated then
      requests, tokens = requests + other.requests, tokens + other.tokens
    end
  end
  return requests, tokens
end

-- Granting: a way is one of the keys, with all the allowances that a call with it draws on.

local function kept_tokens(limits, ask)
  return math.max(0, math.min(limits.kept_tokens, (limits.tokens or 0) - ask.tokens))
end

-- What is free to calls that are not urgent: so much that what is kept for the urgent is free too, or will be soon.
-- What is granted here never leaves so soon: each sum holds for the whole exchange.
local function free_to_all(allowance, ask)
  local limits, log = allowance.limits, allowance.log
  local requests, tokens = math.huge, math.huge
  if limits.requests and limits.kept_requests > 0 then
    allowance.requests_leaving = allowance.requests_leaving
      or redis.call('ZCOUNT', log, '-inf', now + limits.requests_within)
    requests = limits.requests - limits.kept_requests - (allowance.requests - allowance.requests_leaving)
  end
  if limits.tokens and limits.kept_tokens > 0 then
    if not allowance.tokens_leaving then
      local calls =
        redis.call('ZRANGEBYSCORE', log, '-inf', now + limits.tokens_within, 'LIMIT', 0, SUMMED_AT_ONCE)
      allowance.tokens_leaving = 0
      for _, held in ipairs(#calls > 0 and redis.call('HMGET', allowance.held, unpack(calls)) or {}) do
        allowance.tokens_leaving = allowance.tokens_leaving + number(held)
      end
    end
    tokens = limits.tokens - kept_tokens(limits, ask) - (allowance.tokens - allowance.tokens_leaving)
  end
  return requests, tokens
end

local function room(way, ask)
  local requests, tokens, share = math.huge, math.huge, 1
  for _, i in ipairs(way) do
    local allowance = allowances[i]
    local limits, flights = allowance.limits, allowance.mine + allowance.others
    if allowance.paused > now then return 0, 0, 0 end
    local function draw(limit, used)
      share = math.min(share, 1 - used / limit)
      return limit - used
    end
    if limits.requests then requests = math.min(requests, draw(limits.requests, allowance.requests)) end
    if limits.at_once then requests = math.min(requests, draw(limits.at_once, flights)) end
    if limits.tokens then tokens = math.min(tokens, draw(limits.tokens, allowance.tokens)) end
    if ask.priority > request.urgent then
      local more_requests, more_tokens = free_to_all(allowance, ask)
      requests, tokens = math.min(requests, more_requests), math.min(tokens, more_tokens)
    end
  end
  return math.max(0, requests), math.max(0, tokens), share
end

local function choose(ask)
  local before_requests, before_tokens = ahead(ask.priority)
  local all_requests, all_tokens, best, most = 0, 0, nil, -1
  for number_of_way, way in ipairs(request.ways) do
    local requests, tokens, share = room(way, ask)
    all_requests, all_tokens = all_requests + requests, all_tokens + tokens
    if requests >= 1 and tokens >= ask.tokens and share > most then best, most = number_of_way, share end
  end
  if all_requests - before_requests < 1 or all_tokens - before_tokens < ask.tokens then
    return nil, best ~= nil
  end
  return best, false
end

-- When so many requests and tokens have left; for tokens a lower bound where many small calls are in the way.
local function left(allowance, requests, tokens)
  local later = 0
  if requests > 0 then
    later = number(redis.call('ZRANGE', allowance.log, requests - 1, requests - 1, 'WITHSCORES')[2])
  end
  if tokens > 0 then
    local oldest = redis.call('ZRANGE', allowance.log, 0, LOOKED_AHEAD - 1, 'WITHSCORES')
    for i = 1, #oldest, 2 do
      later, tokens = math.max(later, number(oldest[i + 1])), tokens - number(redis.call('HGET', allowance.held, oldest[i]))
      if tokens <= 0 then break end
    end
  end
  return later
end

local function leaves(allowance, ask)
  local limits = allowance.limits
  local requests = limits.requests and allowance.requests + 1 - limits.requests or -math.huge
  local tokens = limits.tokens and allowance.tokens + ask.tokens - limits.tokens or -math.huge
  local later = math.max(allowance.paused, left(allowance, requests, tokens))
  if ask.priority <= request.urgent then return later end
  return math.max(later, left(allowance, requests + limits.kept_requests, 0) - limits.requests_within,
    left(allowance, 0, tokens + kept_tokens(limits, ask)) - limits.tokens_within)
end

local function again(ask, passed_over)
  if passed_over then return tolerated end
  local soonest = math.huge
  for _, way in ipairs(request.ways) do
    local later = 0
    for _, i in ipairs(way) do later = math.max(later, leaves(allowances[i], ask)) end
    soonest = math.min(soonest, later > now and later - now or tolerated)
  end
  return soonest
end

local granted, wait, left = {}, 0, request.want
for position, ask in ipairs(request.asks) do
  for _, allowance in ipairs(allowances) do -- an answer that was lost on its way: the grant begins anew
    if redis.call('HEXISTS', allowance.held, ask.call) == 1 then forget(allowance, {ask.call}) end
  end
  local way, passed_over
  if now < number(grace) then
    wait = number(grace) - now
  else
    way, passed_over = choose(ask)
    if not way then wait = again(ask, passed_over) end
  end
  if not way then break end -- nobody overtakes the first in line, or large calls would starve
  for _, i in ipairs(request.ways[way]) do
    enter(allowances[i], ask.call, ask.tokens, now + request.permit_holds)
    allowances[i].mine = allowances[i].mine + 1
  end
  granted[position], since = way, now
  if ask.priority == left.priority then
    left.requests, left.tokens = left.requests - 1, left.tokens - ask.tokens
  end
end

-- What others need to know.

if left.requests > 0 then
  redis.call('HSET', KEYS[3], me, string.format('%d %d %d %d %d', left.priority, left.requests,
    math.max(0, left.tokens), since, now))
  redis.call('PEXPIRE', KEYS[3], request.expires)
else
  redis.call('HDEL', KEYS[3], me)
end
local used = {}
for i, allowance in ipairs(allowances) do
  redis.call('HSET', allowance.state, 'tokens', allowance.tokens, 'paused', allowance.paused)
  if allowance.mine > 0 then
    redis.call('HSET', allowance.flying, me, allowance.mine)
  else
    redis.call('HDEL', allowance.flying, me)
  end
  local keep = math.max(request.expires_log, allowance.paused - now)
  for _, key in ipairs({allowance.state, allowance.log, allowance.held, allowance.flying}) do
    redis.call('PEXPIRE', key, keep)
  end
  used[i] = {allowance.requests, allowance.tokens, allowance.mine + allowance.others,
    math.max(0, allowance.paused - now)}
end
redis.call('PEXPIRE', KEYS[1], request.expires)
return cjson.encode({granted = granted, again = wait, used = used, workers = redis.call('ZCARD', KEYS[1]),
  epoch = epoch, now = now})
