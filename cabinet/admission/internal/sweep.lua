--[[ Books what requests delivered whose gateway has died: those whose lease has ended.

  ARGV[2] most requests to end in this call   ARGV[3] lease, ms   ARGV[4] longest gap between sweeps, ms
  Returns { 'swept' or 'waiting', how many, nonce, posted_through }
  Writes shard (swept_at, swept_nonce, sweep_from), request:<id>, due, org:<id>, use:<key>, charges.
  After a gap or in a new epoch leases may have ended only because nobody could renew them: it waits a whole lease. Also
  after the clock came back, and then no lease ends later than that: a dead gateway's would until the clock caught up. ]]

local function sweep()
  read_clock()
  local nonce, posted_through = mark()
  local last = redis.call('HMGET', shard_name, 'swept_at', 'swept_nonce', 'sweep_from')
  local sweep_from = tonumber(last[3]) or 0
  local swept_at = tonumber(last[1])
  if not swept_at or math.abs(now_ms - swept_at) > tonumber(ARGV[4]) or last[2] ~= nonce then
    sweep_from = now_ms + tonumber(ARGV[3])
    for _, request in ipairs(redis.call('ZRANGE', due_name, '(' .. integer(sweep_from), '+inf', 'BYSCORE')) do
      redis.call('ZADD', due_name, integer(sweep_from), request)
    end
  end
  redis.call('HSET', shard_name, 'swept_at', integer(now_ms), 'swept_nonce', nonce, 'sweep_from', integer(sweep_from))
  if now_ms < sweep_from then return { 'waiting', 0, nonce, posted_through } end

  local due = redis.call('ZRANGE', due_name, '-inf', integer(now_ms), 'BYSCORE', 'LIMIT', 0, tonumber(ARGV[2]))
  for _, request in ipairs(due) do
    local hold = read_request(request)
    if hold then
      release(request, hold, nil)
      book(request, '0', hold.cost, hold.cost, hold, hold.record)
    else
      redis.call('ZREM', due_name, request)
    end
  end
  return { 'swept', #due, nonce, posted_through }
end

offer('sweep', sweep, { 'allow-oom' })
