--[[ Shared by `inspect` and `admit`, after shard.lua, minute.lua and window.lua: who calls, and what a key has used.

  In the window a request counts until at least 60 whole seconds have passed, so that no 60 seconds, wherever they
  begin, hold more than the limit. 60 buckets would let twice the limit through. ]]

local function is_over(instant) return tonumber(instant) and tonumber(instant) <= now_ms end

-- Budgets of a key and its organization, as read_plan takes them.
local function joined(of_key, of_organization)
  if of_organization == '' then return of_key end
  return of_key == '' and of_organization or of_key .. ',' .. of_organization
end

-- Reads epoch, secret, key and balance. Answers a rejection ({ reason, … }) or nil, and the caller, where the key is
-- known, rejected or not. `ips_id`: the list of addresses that the caller's is in, '*': it need be in none. Redis cannot find
-- out whether an address is in a network: of a key with another list the answer is { 'address_unchecked', id, list }, and the
-- gateway asks again, or rejects. It comes before anything that a stranger with the key could learn.
local function authenticate(hash, run_id, ips_id)
  local epoch = redis.call('HMGET', epoch_name, 'nonce', 'run_id', 'opens_at', 'posted_through')
  if not epoch[1] or epoch[2] ~= run_id or tonumber(epoch[3]) > now_ms then return { 'unavailable' } end

  local cred = redis.call('HMGET', cred_name(hash), 'key', 'organization', 'valid_until', 'state')
  if not cred[1] then return { 'unknown_key' } end
  local key = redis.call('HMGET', key_name(cred[1]), 'state', 'blocked_by', 'expires_at', 'rpm', 'tpm', 'daily_budget',
    'models', 'keeps_hours', 'budgets', 'ips_id')
  local org = redis.call('HMGET', org_name(cred[2]), 'posted', 'pending', 'held', 'zone', 'budgets')
  -- A secret whose key or organization has not arrived yet is a delay of this system, never the caller's
  -- error.
  if not key[1] or not org[1] then return { 'unavailable' } end

  local who = {
    key = cred[1], organization = cred[2], expires_at = key[3], rpm = tonumber(key[4]), tpm = tonumber(key[5]),
    daily_budget = key[6], models = key[7],
    keeps_hours = key[8] or '0', budgets = joined(key[9] or '', org[5] or ''), -- an older worker does not write them
    zone = org[4],
    nonce = epoch[1], posted_through = epoch[4] or '0-0', posted = org[1], pending = org[2] or '0', held = org[3] or '0',
  }
  if who.zone then read_zone(who.zone) end
  -- Beyond 2^53 doubles are not exact; 4e15 (4 million rubles) is more than all holds of an organization.
  who.unspent = math.min(tonumber(who.posted), 4e15) - tonumber(who.pending)

  if key[1] == 'revoked' or cred[4] == 'revoked' or is_over(cred[3]) then return { 'revoked_key' }, who end
  local listed_id = key[10] or '' -- an older worker does not write it
  if ips_id ~= '*' and listed_id ~= '' and listed_id ~= ips_id then
    return { 'address_unchecked', listed_id, redis.call('HGET', key_name(cred[1]), 'ips') or '' }, who
  end
  if is_over(who.expires_at) then return { 'expired_key' }, who end
  if key[1] == 'blocked' then return { 'blocked_key', key[2] }, who end
  if who.unspent <= 0 then return { 'insufficient_balance' }, who end
  return nil, who
end

-- The usage of a key: its day and the windows of its budgets, in nano-rubles, and its minute with buckets that have left
-- it still in the sums.
local function use_of(who)
  local name, second, plan = use_name(who.key), math.floor(now_ms / 1000), plan_of(who.budgets)
  plan.fields[6] = bucket_of(second)
  local known = redis.call('HMGET', name, unpack(plan.fields))
  local use = {
    name = name, plan = plan, known = known, last_day = known[1], day_posted = known[2] or '0', day_pending = known[3] or '0',
    day_held = known[4] or '0', second = second, last = 0, requests = 0, tokens = 0, bucket = known[6],
  }
  if known[5] then use.last, use.requests, use.tokens = struct.unpack(bucket_format, known[5]) end
  return use
end

-- Does HMGET or HDEL with the buckets of some seconds.
local function with_buckets(command, use, from, to)
  local fields = {}
  for second = from, to do fields[#fields + 1] = bucket_of(second) end
  return redis.call(command, use.name, unpack(fields))
end

-- Moves a window to now: takes off what has left it. Its second never runs back by a small step of the clock: the
-- newest second continues. After a large one a new window begins.
local function slide(use)
  local last, second = use.last, use.second
  if last == second then return end
  if last - second >= window_seconds then
    use.requests, use.tokens = 0, 0
  elseif last > second then
    use.second, use.bucket = last, redis.call('HGET', use.name, bucket_of(last))
  elseif second - last >= window_seconds then
    use.requests, use.tokens = 0, 0
  else
    local from = last - window_seconds + 1
    for index, bucket in ipairs(with_buckets('HMGET', use, from, second - window_seconds)) do
      local requests, tokens = counted_in(bucket, from + index - 1)
      use.requests, use.tokens = use.requests - requests, use.tokens - tokens
    end
  end
end

-- Requests and tokens of the present second of a window that was moved to now.
local function present_of(use)
  if not use.second_requests then use.second_requests, use.second_tokens = counted_in(use.bucket, use.second) end
  return use.second_requests, use.second_tokens
end

-- Counts one request of `tokens` in the present second of a window that was moved to now; `write_use` writes that.
local function count_in(use, tokens)
  local requests_before, tokens_before = present_of(use)
  if use.last > use.second then with_buckets('HDEL', use, 0, window_seconds - 1) end -- a new window
  use.requests, use.tokens, use.last = use.requests + 1, use.tokens + tokens, use.second
  use.second_requests, use.second_tokens = requests_before + 1, tokens_before + tokens
end

-- Writes the counts of a window, and adds `amount` to what the day holds.
local function write_use(use, amount)
  local requests, tokens = present_of(use)
  write_counts(use.name, use.last, use.requests, use.tokens, use.second, requests, tokens,
    use.plan.held, integer(tonumber(use.day_held) + amount))
end

-- Milliseconds until buckets worth `excess` requests (`which` = 1) or tokens (2) have left the window. Reads
-- ten at a time: a key that calls all the time is rejected all the time, and its oldest buckets mostly
-- suffice.
local function wait_for(use, which, excess)
  for from = use.second - window_seconds + 1, use.second, 10 do
    for index, bucket in ipairs(with_buckets('HMGET', use, from, math.min(from + 9, use.second))) do
      local second = from + index - 1
      local requests, tokens = counted_in(bucket, second)
      if second == use.second then requests, tokens = present_of(use) end -- what was counted may not be written yet
      excess = excess - (which == 1 and requests or tokens)
      if excess <= 0 then return (second + window_seconds) * 1000 - now_ms end
    end
  end
  return (use.second + window_seconds) * 1000 - now_ms -- not even an empty window has room
end

-- rpm, used, reset ms, tpm, used, reset ms. Reset: when the whole limit is free again.
local function limits_of(who, use)
  local reset = math.max(0, (use.last + window_seconds) * 1000 - now_ms)
  return who.rpm, use.requests, use.requests > 0 and reset or 0, who.tpm, use.tokens, use.tokens > 0 and reset or 0
end

-- Of a known key, with its window moved to now: its owner and its limits, then the rejection.
local function refusal_of(who, use, ...)
  local rpm, requests, requests_reset, tpm, tokens, tokens_reset = limits_of(who, use)
  return { 'refused', who.organization, who.key, rpm, requests, requests_reset, tpm, tokens, tokens_reset, ... }
end

-- Of a key that is not known, or not looked at.
local function refusal_of_nobody(reason) return { 'refused', '', reason } end
