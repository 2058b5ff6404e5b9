--[[ Authenticates a key and holds money for one request, or refuses: all of it or nothing.

  ARGV[2] run id as read on this connection   ARGV[3] hash of the key   ARGV[4] request id
  ARGV[5] lease, ms   ARGV[6] oldest unposted charge allowed, ms   ARGV[7] record that a sweep would book
  ARGV[8…] for each candidate: model, hold, tokens. The first is the model asked for.

  Returns 'admitted organization key day second amount tokens allowed(0-based, by commas) rpm used reset
           tpm used reset nonce posted_through': a text costs both ends less than 16 items
       or { 'refused', '', reason }: of a key that is not known, or of a late command
       or { 'refused', organization, key, rpm, used, reset, tpm, used, reset, reason, … }: what a reason carries
          stands where it is refused.
  Writes request:<id>, due, org:<id>, use:<key>. Refused: refused:<organization>, no more.
  Idempotent: the same request id answers the same hold; one that has ended gets none.
  Without allow-oom: a full Redis refuses before anything is written. ]]

local first_candidate = 8

-- The last 100 refusals of an organization, for its owner to see; outside the money path, may be lost.
local function refuse(who, use, reason, ...)
  local name = refused_name(who.organization)
  redis.call('LPUSH', name, cjson.encode({
    at = now_ms, request = ARGV[4], key = who.key, reason = reason, model = ARGV[first_candidate],
  }))
  redis.call('LTRIM', name, 0, 99)
  return refusal_of(who, use, reason, ...)
end

local function admitted(hold, who, use)
  local rpm, requests, requests_reset, tpm, tokens, tokens_reset = limits_of(who, use)
  return string.format('admitted %s %s %s %s %s %s %s %d %d %d %d %d %d %s %s', hold.organization, hold.key, hold.day,
    hold.second, hold.amount, hold.tokens, hold.allowed, rpm, requests, requests_reset, tpm, tokens, tokens_reset,
    who.nonce, who.posted_through)
end

local function may_use(models, model)
  if models == '' or string.find(models, '\n' .. model .. '\n', 1, true) then return true end
  local provider = string.match(model, '^[^/]+/')
  return provider and string.find(models, '\n' .. provider .. '*\n', 1, true)
end

-- The dearest of the candidates that this key may use and whose tokens could ever fit, and their indexes.
local function hold_for(who)
  local hold = { organization = who.organization, key = who.key, day = integer(today), amount = '0', tokens = 0 }
  local allowed = {}
  for at = first_candidate, #ARGV, 3 do
    local amount, tokens = ARGV[at + 1], tonumber(ARGV[at + 2])
    if may_use(who.models, ARGV[at]) and (at == first_candidate or tokens <= who.tpm) then
      allowed[#allowed + 1] = (at - first_candidate) / 3
      if tonumber(amount) > tonumber(hold.amount) then hold.amount = amount end
      hold.tokens = math.max(hold.tokens, tokens)
    end
  end
  hold.allowed = table.concat(allowed, ',')
  return hold
end

-- Whether charges have waited for Postgres too long. They wait in order: where the newest posted one is young, so are they.
local function is_overdue(posted_through)
  local too_old_ms = server_ms - 1 - tonumber(ARGV[6])
  if tonumber(string.match(posted_through, '^%d+')) > too_old_ms then return false end
  return #redis.call('XRANGE', charges_name, '-', integer(too_old_ms), 'COUNT', 1) > 0
end

local function refuse_budget(who, use, reason) -- limit, posted, pending, end of the day
  return refuse(who, use, reason, who.daily_budget, use.day_posted, use.day_pending, end_of_day_ms(today))
end

local function admit()
  read_clock()
  local request, lease_ms = ARGV[4], tonumber(ARGV[5])
  local refusal, who = authenticate(ARGV[3], ARGV[2])
  if not who then return refusal_of_nobody(refusal[1]) end
  local held, ending = read_request(request)
  if ending then return refusal_of_nobody('already_ended') end

  local use = use_of(who.key)
  slide(use)
  if held then return admitted(held, who, use) end

  if refusal then return refuse(who, use, unpack(refusal)) end
  if not may_use(who.models, ARGV[first_candidate]) then return refuse(who, use, 'model_not_allowed') end
  if is_overdue(who.posted_through) then return refusal_of(who, use, 'unavailable') end

  local hold = hold_for(who)
  if hold.tokens > who.tpm then
    return refuse(who, use, 'request_too_large_for_tpm', who.tpm, integer(hold.tokens)) -- limit, tokens
  end

  local budget = tonumber(who.daily_budget)
  local budget_left = budget and budget - tonumber(use.day_posted) - tonumber(use.day_pending)
  if budget and budget_left <= 0 then return refuse_budget(who, use, 'daily_budget_exceeded') end
  local excess_requests = use.requests + 1 - who.rpm
  if excess_requests > 0 then -- limit, used, wait ms
    return refuse(who, use, 'rpm', who.rpm, use.requests, wait_for(use, 1, excess_requests))
  end
  local excess_tokens = use.tokens + hold.tokens - who.tpm
  if excess_tokens > 0 then
    return refuse(who, use, 'tpm', who.tpm, use.tokens, wait_for(use, 2, excess_tokens))
  end

  if who.unspent - tonumber(who.held) <= 0 then return refuse(who, use, 'balance_reserved') end
  if budget and budget_left - tonumber(use.day_held) <= 0 then return refuse_budget(who, use, 'budget_reserved') end

  begin_day(use)
  count_in(use, hold.tokens)
  add('held', hold.amount, hold.organization, hold.key, hold.day)
  hold.second, hold.tokens = integer(use.second), integer(hold.tokens)
  hold.cost, hold.record = '0', ARGV[7]
  write_hold(request, hold)
  redis.call('ZADD', due_name, integer(now_ms + lease_ms), request)
  return admitted(hold, who, use)
end

offer('admit', admit)
