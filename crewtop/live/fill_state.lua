-- What a reader found in Postgres, put where its mark, or what it knew before, still stands untouched.
-- KEYS 1 the task   ARGV 1 what stood there, 2 the state, '' to take the mark away, 3 milliseconds that it is true for

if redis.call('GET', KEYS[1]) == ARGV[1] then
  if ARGV[2] == '' then
    redis.call('DEL', KEYS[1])
  else
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  end
end
