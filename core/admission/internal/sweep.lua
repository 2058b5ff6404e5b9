--[[ Posts what requests delivered whose gateway has died, or is cut off: those whose lease has ended. The rest of a hold
  stays until the request's deadline, since a gateway that is only cut off goes on delivering.

  ARGV[2] most requests to look at in this call   ARGV[3] lease, ms   ARGV[4] longest gap between sweeps, ms
  Returns { 'swept' or 'waiting', how many were looked at, how many of them were booked, nonce, posted_through }
  Writes shard (swept_at, swept_nonce, sweep_from), request:<id>, due, org:<id>, use:<key>, spend:<member>, charges.
  After a gap or in a new epoch leases may have ended only because nobody could renew them: it waits a whole lease. Also
  after the clock came back, and then no lease ends later than that: a dead gateway's would until the clock caught up. ]]

-- Routes may give a request an hour (crds/model-route.ts). A deadline beyond that was written by a clock that ran ahead.
local request_ms_max = 3600000

-- Posts once what was delivered, and releases what is no longer reserved. Returns whether this call posted
-- it.
local function sweep_one(request, hold)
  hold.deadline = integer(math.min(tonumber(hold.deadline), now_ms + request_ms_max))
  local is_first, is_over = hold.booked_id == '-', tonumber(hold.deadline) <= now_ms
  if is_first then
    hold.booked, hold.booked_id = hold.cost, append(request, rank_released, hold.cost, hold.cost, hold, hold.record)
  end
  if is_over then
    release(request, hold, nil)
    remember_ending(request, rank_released, hold.booked, hold.booked_id)
    return is_first
  end
  if is_first then
    local booked = math.min(tonumber(hold.amount), tonumber(hold.booked))
    add('held', minus(integer(booked)), hold)
    hold.amount = integer(tonumber(hold.amount) - booked)
  end
  write_hold(request, hold)
  redis.call('ZADD', due_name, hold.deadline, request)
  return is_first
end

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
  if now_ms < sweep_from then return { 'waiting', 0, 0, nonce, posted_through } end

  local due = redis.call('ZRANGE', due_name, '-inf', integer(now_ms), 'BYSCORE', 'LIMIT', 0, tonumber(ARGV[2]))
  local booked = 0
  for _, request in ipairs(due) do
    local hold = read_request(request)
    if not hold then
      redis.call('ZREM', due_name, request)
    elseif sweep_one(request, hold) then
      booked = booked + 1
    end
  end
  return { 'swept', #due, booked, nonce, posted_through }
end

begin()
return sweep()
