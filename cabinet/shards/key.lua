--[[ What `inspect` and `admit` share, after shard.lua: who calls, and a key's one-minute window.

  The window is 61 buckets of one second: a request counts until at least 60 whole seconds have passed, so that no
  60 seconds, wherever they begin, hold more than the limit. 60 buckets would let twice the limit through. ]]

local window_seconds = 61

-- Reads epoch, credential, key and balance. Answers a refusal ({ reason, blocked by? }) or nil, and the caller, where
-- the key is known, refused or not.
local function authenticate(hash, run_id)
  local epoch = redis.call('HMGET', KEYS[1], 'nonce', 'run_id', 'opens_at')
  if not epoch[1] or epoch[2] ~= run_id or tonumber(epoch[3]) > now_ms then return { 'unavailable' } end

  local cred = redis.call('HMGET', cred_name(hash), 'key', 'organization', 'valid_until', 'state')
  if not cred[1] then return { 'unknown_key' } end
  local key = redis.call('HMGET', key_name(cred[1]), 'state', 'blocked_by', 'expires_at', 'rpm', 'tpm', 'daily_budget',
    'models', 'read_balance')
  local org = redis.call('HMGET', org_name(cred[2]), 'posted', 'pending', 'held')
  -- A credential whose key or organization has not arrived yet is our fault, never the caller's.
  if not key[1] or not org[1] then return { 'unavailable' } end

  local who = {
    key = cred[1], organization = cred[2], expires_at = key[3], rpm = tonumber(key[4]), tpm = tonumber(key[5]),
    daily_budget = key[6], models = key[7], read_balance = key[8],
    nonce = epoch[1], posted = org[1], pending = org[2] or '0', held = org[3] or '0',
  }
  -- Beyond 2^53 doubles are not exact; 4e15 (4 million roubles) is more than all holds of an organization.
  who.unspent = math.min(tonumber(who.posted), 4e15) - tonumber(who.pending)

  local function is_over(instant) return tonumber(instant) and tonumber(instant) <= now_ms end
  if key[1] == 'revoked' or cred[4] == 'revoked' or is_over(cred[3]) then return { 'revoked_key' }, who end
  if is_over(who.expires_at) then return { 'expired_key' }, who end
  if key[1] == 'blocked' then return { 'blocked_key', key[2] }, who end
  if who.unspent <= 0 then return { 'insufficient_balance' }, who end
  return nil, who
end

-- What a key has used: its minute, with buckets that have left it still counted, and its day in nano-roubles.
local function use_of(win)
  local day = integer(today)
  local second = math.floor(now_ms / 1000)
  local known = redis.call('HMGET', win, 'seen', 'last', 'requests', 'tokens', 'day',
    day .. ':posted', day .. ':pending', day .. ':held', 'r' .. second, 't' .. second)
  newest_day[win] = tonumber(known[5])
  return {
    second = second, seen = tonumber(known[1]) or second, last = tonumber(known[2]) or second,
    requests = tonumber(known[3]) or 0, tokens = tonumber(known[4]) or 0,
    day_posted = known[6] or '0', day_pending = known[7] or '0', day_held = known[8] or '0',
    bucket = { second = second, requests = tonumber(known[9]) or 0, tokens = tonumber(known[10]) or 0 },
  }
end

-- Moves a window to now: the buckets that have left it are taken off, and forgotten when `keep` is set: then the rest
-- is to be kept as well, by `keep_window` or `count_in`. Its second never runs back by a small step of the clock; after
-- a large one the window begins anew.
local function slide(win, window, keep)
  local second, seen = window.second, window.seen
  local newest_gone = math.min(seen, second - window_seconds)
  if seen - second >= window_seconds then
    newest_gone, window.last = seen, second
  elseif seen >= second then
    window.second = seen
    return
  end
  local gone = {}
  for old = seen - window_seconds + 1, newest_gone do
    gone[#gone + 1] = 'r' .. old
    gone[#gone + 1] = 't' .. old
  end
  if #gone > 0 then
    local counts = redis.call('HMGET', win, unpack(gone))
    for i = 1, #counts, 2 do
      window.requests = window.requests - (tonumber(counts[i]) or 0)
      window.tokens = window.tokens - (tonumber(counts[i + 1]) or 0)
    end
    if keep then redis.call('HDEL', win, unpack(gone)) end
  end
end

local function keep_window(win, window)
  redis.call('HSET', win, 'seen', integer(window.second), 'requests', integer(window.requests),
    'tokens', integer(window.tokens))
end

-- Counts one request of `tokens` in the present second, and keeps the window.
local function count_in(win, window, tokens)
  local bucket = window.bucket
  if bucket.second ~= window.second then -- the clock ran back: the newest second goes on
    local known = redis.call('HMGET', win, 'r' .. window.second, 't' .. window.second)
    bucket = { requests = tonumber(known[1]) or 0, tokens = tonumber(known[2]) or 0 }
  end
  window.requests, window.tokens, window.last = window.requests + 1, window.tokens + tokens, window.second
  local second = integer(window.second)
  redis.call('HSET', win, 'seen', second, 'last', second, 'requests', integer(window.requests),
    'tokens', integer(window.tokens), 'r' .. second, integer(bucket.requests + 1), 't' .. second,
    integer(bucket.tokens + tokens))
end

-- Milliseconds until buckets worth `excess` have left the window; `letter`: r or t. Reads ten at a time: a key that
-- asks all the time is refused all the time, and its oldest buckets mostly suffice.
local function wait_for(win, window, letter, excess)
  for from = window.second - window_seconds + 1, window.second, 10 do
    local names = {}
    for old = from, math.min(from + 9, window.second) do names[#names + 1] = letter .. old end
    for index, count in ipairs(redis.call('HMGET', win, unpack(names))) do
      excess = excess - (tonumber(count) or 0)
      if excess <= 0 then return (from + index - 1 + window_seconds) * 1000 - now_ms end
    end
  end
  return (window.second + window_seconds) * 1000 - now_ms -- not even an empty window has room
end

-- rpm, remaining, reset ms, tpm, remaining, reset ms. Reset: when the whole limit is free again.
local function limits_of(who, window)
  local reset = math.max(0, (window.last + window_seconds) * 1000 - now_ms)
  return who.rpm, math.max(0, who.rpm - window.requests), window.requests > 0 and reset or 0,
    who.tpm, math.max(0, who.tpm - window.tokens), window.tokens > 0 and reset or 0
end
