--[[ What `settle`, `void` and `sweep` share, after shard.lua: the end of a request. ]]

local done_seconds = 1800

-- What settle and void answer.
local function ended(id, cost)
  local nonce, posted_through = mark()
  return id .. ' ' .. cost .. ' ' .. nonce .. ' ' .. posted_through
end

local function remember_ending(request, rank, cost, id)
  redis.call('SET', done_name(request), rank .. ' ' .. cost .. ' ' .. id, 'EX', done_seconds)
end

-- Corrects the TPM bucket of a hold's second to what was really used, while that bucket is in the window.
-- Never below zero: after a loss of data a bucket may not contain what its hold had added.
local function correct_tokens(hold, used)
  local win, bucket = win_name(hold.key), 't' .. hold.second
  local known = redis.call('HMGET', win, 'day', bucket, 'tokens')
  newest_day[win] = tonumber(known[1])
  local counted = tonumber(known[2])
  local difference = math.max(used - tonumber(hold.tokens), -(counted or 0))
  if not counted or difference == 0 then return end
  redis.call('HSET', win, bucket, integer(counted + difference),
    'tokens', integer((tonumber(known[3]) or 0) + difference))
end

-- Gives a hold back and answers it, or nothing when there is none. `used`: tokens really used, or nil if unknown.
local function release(request, used)
  local hold = read_hold(request)
  redis.call('ZREM', due_name, request)
  if not hold then return nil end
  if used then correct_tokens(hold, used) end
  add('held', minus(hold.amount), hold.organization, hold.key, hold.day)
  redis.call('DEL', hold_name(request))
  return hold
end

-- Appends an entry for Postgres, adds `pending` to what waits, and remembers the ending. Answers the stream id.
local function book(request, rank, cost, pending, of, record)
  add('pending', pending, of.organization, of.key, of.day)
  local id = redis.call('XADD', charges_name, '*', 'request', request, 'rank', rank, 'organization', of.organization,
    'key', of.key, 'day', of.day, 'cost', cost, 'pending', pending, 'at', integer(now_ms), 'record', record)
  remember_ending(request, rank, cost, id)
  return id
end
