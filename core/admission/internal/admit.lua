--[[ Authenticates a key and holds what one request may cost, or rejects: all of it or nothing.

  ARGV[2] run id as read on this connection   ARGV[3] hash of the key   ARGV[4] request id
  ARGV[5] lease, ms   ARGV[6] oldest unposted charge allowed, ms   ARGV[7] record that a sweep would book
  ARGV[8] longest that the request may run, ms
  ARGV[9] 'bound': a request that is too large is measured and asked for again; then its refusal is listed ('final').
    Followed by ' unlisted' where Redis has no memory for lists
  ARGV[10…] for each candidate: model, tokens for TPM, cost of the prompt, cost of an output token in every choice,
    output limit ('' where the request names none), usual output, longest output ('0': not known). The first is the
    model asked for.

  Returns 'admitted organization key day owners second amount tokens deadline allowed keeps_hours rpm used reset tpm used reset
           nonce posted_through': a text costs both ends less than 18 items. allowed: for each candidate that may run, by
           commas, its 0-based index, a colon, and the output limit that was set for it (0: none)
       or { 'refused', '', reason }: of a key that is not known, or of a late command
       or { 'refused', organization, key, rpm, used, reset, tpm, used, reset, reason, … }: what a reason carries
          stands where it is refused.
  Writes request:<id>, due, org:<id>, use:<key>, spend:<member>. Refused: refused:<organization> and refused:recent, no more.
  A hold is never more than what is available of the balance and of each budget.
  Idempotent: the same request id answers the same hold; one that has ended gets none.
  Without allow-oom: a full Redis refuses before anything is written. ]]

local admit_argv = {
  clock_offset_ms = 1, run_id = 2, secret_hash = 3, request_id = 4, lease_ms = 5, unposted_age_ms_max = 6, record = 7,
  timeout_ms = 8, attempt = 9,
}
-- After those; each candidate's begin at its `at`.
local candidate_argv = { model = 0, tokens = 1, prompt = 2, output_token = 3, limit = 4, usual = 5, longest = 6 }
local first_candidate, candidate_size = 10, 7
-- An answer shorter than this is worth nothing; a request that names no limit and cannot have it is rejected.
local output_tokens_min = 16

-- `told`: limit, used, held, needed and reset if the error has them; requests, tokens or nano-rubles as text (cjson keeps
-- 14 digits of a number); reset: Unix milliseconds.
local of_size = {
  request_exceeds_balance = true, request_exceeds_budget = true, request_too_large_for_tpm = true,
  balance_reserved = true, budget_reserved = true, tpm = true,
}

local function refuse(who, use, told, reason, ...)
  local attempt = ARGV[admit_argv.attempt]
  local is_bound = string.find(attempt, 'bound', 1, true) == 1
  if is_bound and of_size[reason] or string.find(attempt, ' unlisted', 1, true) then
    return refusal_of(who, use, reason, ...)
  end
  list_refused(who.organization, cjson.encode({
    at = now_ms, request = ARGV[admit_argv.request_id], key = who.key, reason = reason, model = ARGV[first_candidate + candidate_argv.model],
    budget = told.budget, limit = told.limit, used = told.used, held = told.held, needed = told.needed, reset = told.reset,
  }))
  return refusal_of(who, use, reason, ...)
end

local function admitted(hold, who, use)
  local rpm, requests, requests_reset, tpm, tokens, tokens_reset = limits_of(who, use)
  return string.format('admitted %s %s %s %s %s %s %s %s %s %s %d %d %d %d %d %d %s %s', hold.organization, hold.key, hold.day,
    hold.owners, hold.second, hold.amount, hold.tokens, hold.deadline, hold.allowed, who.keeps_hours, rpm, requests, requests_reset, tpm,
    tokens, tokens_reset, who.nonce, who.posted_through)
end

local function may_use(models, model)
  if models == '' or string.find(models, '\n' .. model .. '\n', 1, true) then return true end
  local provider = string.match(model, '^[^/]+/')
  return provider and string.find(models, '\n' .. provider .. '*\n', 1, true)
end

-- What the candidate at `at` may use of `available`: the amount to hold and the output limit to set (0: none).
-- nil: it does not fit. A request that names no limit holds its model's whole length where that is at most an eighth of
-- what is available; else the larger of that eighth and the usual output, as far as that fits.
local function grant_of(at, available)
  local prompt, per_token = tonumber(ARGV[at + candidate_argv.prompt]), tonumber(ARGV[at + candidate_argv.output_token])
  local own = tonumber(ARGV[at + candidate_argv.limit])
  local function cost_of(tokens) return prompt + per_token * tokens end
  if own or per_token == 0 then
    local amount = cost_of(own or 0)
    if amount > 0 and amount > available then return nil end
    return amount, 0
  end

  local usual, longest = tonumber(ARGV[at + candidate_argv.usual]), tonumber(ARGV[at + candidate_argv.longest])
  if longest == 0 then longest = math.huge end
  local affordable = math.floor((available - prompt) / per_token)
  if affordable < math.min(output_tokens_min, longest) then return nil end
  local eighth = math.floor((available / 8 - prompt) / per_token)
  local limit = math.min(math.max(eighth, usual), affordable, longest)
  return cost_of(limit), limit < longest and limit or 0
end

-- The most expensive of the candidates that this key may use and that fit, and what each may use.
local function hold_for(who, plan, tokens_max, available)
  local hold = { organization = who.organization, key = who.key, day = plan.day, owners = plan.owners, amount = 0, tokens = 0 }
  local allowed = {}
  for at = first_candidate, #ARGV, candidate_size do
    local tokens = tonumber(ARGV[at + candidate_argv.tokens])
    local amount, limit
    if may_use(who.models, ARGV[at + candidate_argv.model]) and tokens <= tokens_max then amount, limit = grant_of(at, available) end
    if amount then
      allowed[#allowed + 1] = string.format('%d:%d', (at - first_candidate) / candidate_size, limit)
      hold.amount, hold.tokens = math.max(hold.amount, amount), math.max(hold.tokens, tokens)
    end
  end
  hold.amount, hold.allowed = integer(hold.amount), table.concat(allowed, ',')
  return hold
end

-- Whether charges have waited for Postgres too long. They wait in order: if the newest posted one is young,
-- the rest are, too.
local function is_overdue(posted_through)
  local too_old_ms = server_ms - 1 - tonumber(ARGV[admit_argv.unposted_age_ms_max])
  if tonumber(string.match(posted_through, '^%d+')) > too_old_ms then return false end
  return #redis.call('XRANGE', charges_name, '-', integer(too_old_ms), 'COUNT', 1) > 0
end

-- The least that the model asked for may cost, and the tokens of that answer.
local function least_cost()
  local prompt, per_token = tonumber(ARGV[first_candidate + candidate_argv.prompt]), tonumber(ARGV[first_candidate + candidate_argv.output_token])
  local own, longest = tonumber(ARGV[first_candidate + candidate_argv.limit]), tonumber(ARGV[first_candidate + candidate_argv.longest])
  local least = longest > 0 and math.min(output_tokens_min, longest) or output_tokens_min
  return integer(math.min(prompt + per_token * (own or least), 4e15))
end

-- scope, period, limit, posted, pending, held, least cost, end of the window (empty: none), then values of the reason
local function refuse_budget(who, use, budget, reason, ...)
  local scope, period, limit = budget.planned.scope, budget.planned.period, budget.planned.limit
  local posted, pending = budget.posted, budget.pending
  local held, needed, ends = integer(budget.held), least_cost(), window_ends(period, who.zone)
  local told = {
    budget = scope .. ':' .. period, limit = limit, used = integer(tonumber(posted) + pending), held = held,
    needed = needed, reset = ends ~= '' and ends or nil,
  }
  return refuse(who, use, told, reason, scope, period, limit, posted, integer(pending), held, needed, ends, ...)
end

-- What the budgets leave: spent, and also held; each with the budget that leaves the least; and the last one that is spent.
local function left_of(budgets)
  local left, free, least_left, least_free, spent = math.huge, math.huge, nil, nil, nil
  for index = 1, #budgets do
    local budget = budgets[index]
    local own_left, own_free = budget.left, budget.free
    if own_left <= 0 then spent = budget end
    if own_left < left then left, least_left = own_left, budget end
    if own_free < free then free, least_free = own_free, budget end
  end
  return left, free, least_left, least_free, spent
end

local function refuse_rate(who, use, which, limit, used, excess) -- limit, used, wait ms
  local wait = wait_for(use, which == 'rpm' and 1 or 2, excess)
  local told = { limit = integer(limit), used = integer(used), reset = integer(now_ms + wait) }
  return refuse(who, use, told, which, limit, used, wait)
end

-- The largest output limit of the model asked for that `available` would cover, with nothing running; 0: none.
local function affordable_tokens(available)
  local prompt, per_token = tonumber(ARGV[first_candidate + candidate_argv.prompt]), tonumber(ARGV[first_candidate + candidate_argv.output_token])
  return per_token > 0 and math.max(0, math.floor((available - prompt) / per_token)) or 0
end

-- Where not even the whole balance, with nothing running, would cover the model asked for: that balance, what is held
-- of it, the least that the request may cost, the largest output limit that would fit.
local function refuse_balance(who, use)
  local balance, held, needed = integer(who.unspent), who.held, least_cost()
  local told = { limit = balance, held = held, needed = needed }
  return refuse(who, use, told, 'request_exceeds_balance', balance, held, needed, affordable_tokens(who.unspent))
end

local function admit()
  read_clock()
  local request, lease_ms = ARGV[admit_argv.request_id], tonumber(ARGV[admit_argv.lease_ms])
  local refusal, who = authenticate(ARGV[admit_argv.secret_hash], ARGV[admit_argv.run_id])
  if not who then return refusal_of_nobody(refusal[1]) end
  local held, ending = read_request(request)
  if ending then return refusal_of_nobody('already_ended') end

  local use = use_of(who)
  slide(use)
  if held then return admitted(held, who, use) end

  if refusal then return refuse(who, use, {}, unpack(refusal)) end
  if not may_use(who.models, ARGV[first_candidate + candidate_argv.model]) then return refuse(who, use, {}, 'model_not_allowed') end
  if is_overdue(who.posted_through) then return refusal_of(who, use, 'unavailable') end

  local tokens_asked = tonumber(ARGV[first_candidate + candidate_argv.tokens])
  if tokens_asked > who.tpm then
    local tokens = integer(tokens_asked)
    local told = { limit = integer(who.tpm), needed = tokens }
    return refuse(who, use, told, 'request_too_large_for_tpm', who.tpm, tokens) -- limit, tokens
  end
  local budgets = budgets_of(who, use)
  local budget_left, budget_free, least_left, least_free, spent = left_of(budgets)
  if spent then
    return refuse_budget(who, use, spent, spent.planned.window and 'budget_exceeded' or 'daily_budget_exceeded')
  end
  if not grant_of(first_candidate, who.unspent) then return refuse_balance(who, use) end
  if not grant_of(first_candidate, budget_left) then
    return refuse_budget(who, use, least_left, 'request_exceeds_budget', affordable_tokens(budget_left))
  end

  local excess_requests = use.requests + 1 - who.rpm
  if excess_requests > 0 then return refuse_rate(who, use, 'rpm', who.rpm, use.requests, excess_requests) end
  local excess_tokens = use.tokens + tokens_asked - who.tpm
  if excess_tokens > 0 then return refuse_rate(who, use, 'tpm', who.tpm, use.tokens, excess_tokens) end

  local balance_free = who.unspent - tonumber(who.held)
  if not grant_of(first_candidate, balance_free) then return refuse(who, use, {}, 'balance_reserved') end
  if not grant_of(first_candidate, budget_free) then return refuse_budget(who, use, least_free, 'budget_reserved') end

  local hold = hold_for(who, use.plan, who.tpm - use.tokens, math.min(balance_free, budget_free))
  begin_day(use.name, use.last_day, hold.day)
  count_in(use, hold.tokens, hold.amount)
  if hold.amount ~= '0' then redis.call('HINCRBY', org_name(hold.organization), 'held', hold.amount) end
  hold_of_others(who, use.plan, hold.amount)
  hold.second, hold.tokens = integer(use.second), integer(hold.tokens)
  hold.deadline, hold.cost, hold.booked, hold.booked_id, hold.record = integer(now_ms + tonumber(ARGV[admit_argv.timeout_ms])), '0', '0', '-', ARGV[admit_argv.record]
  write_hold(request, hold)
  redis.call('ZADD', due_name, integer(now_ms + lease_ms), request)
  return admitted(hold, who, use)
end

offer('admit', admit)
