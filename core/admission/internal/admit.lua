--[[ Authenticates a key and holds what requests may cost, or rejects them, one after the other: all of it or nothing.

  ARGV[2] run id as read on this connection   ARGV[3] hash of the key   ARGV[4] lease, ms
  ARGV[5] oldest unposted charge allowed, ms   ARGV[6] list of addresses passed (key.lua)
  ARGV[7…] for each request, in order: request id, record that a sweep would book, longest that it may run, ms,
    'bound' (if it is too large it is measured and asked for again; then its refusal is listed: 'final'), followed by
      ' unlisted' where Redis has no memory for lists,
    how many candidates, and for each: model, tokens for TPM, cost of the prompt, cost of an output token in every choice,
      output limit ('' where the request names none), usual output, longest output ('0': not known). The first is the
      model asked for.

  Returns for each (reply_of), or its error:
       'admitted organization key day owners second amount tokens deadline allowed keeps_hours rpm used reset tpm used reset
           nonce posted_through': a text costs both ends less than 18 items. allowed: for each candidate that may run, by
           commas, its 0-based index, a colon, and the output limit that was set for it (0: none)
       or { 'refused', '', reason }: of a key that is not known, or of a late command
       or { 'refused', organization, key, rpm, used, reset, tpm, used, reset, reason, … }: what a reason carries
          stands where it is refused.
  Writes request:<id>, due, org:<id>, use:<key>, spend:<member>. Refused: refused:<organization> and refused:recent, no more.
  What a key and its organization have used is read once and written once. Each request sees what those before it hold, as
  in a call for itself.
  A hold is never more than what is available of the balance and of each budget.
  Idempotent: the same request id answers the same hold; one that has ended gets none.
  Without allow-oom: a full Redis refuses before anything is written. ]]

local admit_argv = { clock_offset_ms = 1, run_id = 2, secret_hash = 3, lease_ms = 4, unposted_age_ms_max = 5, ips_id = 6 }
-- Of each request, from its `at` on; then its candidates, each from its `at` on.
local asked_argv = { request_id = 0, record = 1, timeout_ms = 2, attempt = 3, candidate_count = 4 }
local candidate_argv = { model = 0, tokens = 1, prompt = 2, output_token = 3, limit = 4, usual = 5, longest = 6 }
local first_asked, asked_size, candidate_size = 7, 5, 7
-- An answer shorter than this is worth nothing; a request that names no limit and cannot have it is rejected.
local output_tokens_min = 16

-- A candidate as numbers. `limit`: of output tokens, where the request names one or they cost nothing; `amount` is then
-- what it costs.
local function candidate_at(at)
  local candidate = {
    model = ARGV[at + candidate_argv.model], tokens = tonumber(ARGV[at + candidate_argv.tokens]),
    prompt = tonumber(ARGV[at + candidate_argv.prompt]), per_token = tonumber(ARGV[at + candidate_argv.output_token]),
    own = tonumber(ARGV[at + candidate_argv.limit]),
  }
  if candidate.own or candidate.per_token == 0 then
    candidate.amount = candidate.prompt + candidate.per_token * (candidate.own or 0)
  end
  if not candidate.own then
    candidate.usual, candidate.longest = tonumber(ARGV[at + candidate_argv.usual]), tonumber(ARGV[at + candidate_argv.longest])
  end
  return candidate
end

-- Where each request of the present call begins.
local function all_asked()
  local starts, at = {}, first_asked
  while at <= #ARGV do
    starts[#starts + 1] = at
    at = at + asked_size + candidate_size * tonumber(ARGV[at + asked_argv.candidate_count])
  end
  return starts
end

-- `told`: limit, used, held, needed and reset if the error has them; requests, tokens or nano-rubles as text (cjson keeps
-- 14 digits of a number); reset: Unix milliseconds.
local of_size = {
  request_exceeds_balance = true, request_exceeds_budget = true, request_too_large_for_tpm = true,
  balance_reserved = true, budget_reserved = true, tpm = true,
}

local function refuse(call, at, told, reason, ...)
  local attempt = ARGV[at + asked_argv.attempt]
  local is_bound = string.find(attempt, 'bound', 1, true) == 1
  if not (is_bound and of_size[reason] or string.find(attempt, ' unlisted', 1, true)) then
    call.listed = call.listed or {}
    call.listed[#call.listed + 1] = cjson.encode({
      at = now_ms, request = ARGV[at + asked_argv.request_id], key = call.who.key, reason = reason,
      model = ARGV[at + asked_size + candidate_argv.model], budget = told.budget, limit = told.limit, used = told.used,
      held = told.held, needed = told.needed, reset = told.reset,
    })
  end
  return refusal_of(call.who, call.use, reason, ...)
end

-- `integer`, once for each number: several requests of a call have most in common.
local function text_in(call, number)
  if not call.texts then return integer(number) end
  local text = call.texts[number]
  if not text then
    text = integer(number)
    call.texts[number] = text
  end
  return text
end

local function admitted(call, hold)
  local who = call.who
  local rpm, requests, requests_reset, tpm, tokens, tokens_reset = limits_of(who, call.use)
  return 'admitted ' .. hold.organization .. ' ' .. hold.key .. ' ' .. hold.day .. ' ' .. hold.owners .. ' ' .. hold.second .. ' ' ..
    hold.amount .. ' ' .. hold.tokens .. ' ' .. hold.deadline .. ' ' .. hold.allowed .. ' ' .. who.keeps_hours .. ' ' ..
    text_in(call, rpm) .. ' ' .. text_in(call, requests) .. ' ' .. text_in(call, requests_reset) .. ' ' .. text_in(call, tpm) .. ' ' ..
    text_in(call, tokens) .. ' ' .. text_in(call, tokens_reset) .. ' ' .. who.nonce .. ' ' .. who.posted_through
end

local function may_use(models, model)
  if models == '' or string.find(models, '\n' .. model .. '\n', 1, true) then return true end
  local provider = string.match(model, '^[^/]+/')
  return provider and string.find(models, '\n' .. provider .. '*\n', 1, true)
end

-- What a candidate may use of `available`: the amount to hold and the output limit to set (0: none).
-- nil: it does not fit. A request that names no limit holds its model's whole length where that is at most an eighth of
-- what is available; else the larger of that eighth and the usual output, as far as that fits.
local function grant_of(candidate, available)
  local amount, prompt, per_token = candidate.amount, candidate.prompt, candidate.per_token
  if amount then
    if amount > 0 and amount > available then return nil end
    return amount, 0
  end

  local longest = candidate.longest == 0 and math.huge or candidate.longest
  local affordable = math.floor((available - prompt) / per_token)
  if affordable < math.min(output_tokens_min, longest) then return nil end
  local eighth = math.floor((available / 8 - prompt) / per_token)
  local limit = math.min(math.max(eighth, candidate.usual), affordable, longest)
  return prompt + per_token * limit, limit < longest and limit or 0
end

-- The hold of the request at `at`: of the most expensive of its candidates that this key may use and that fit, and what each
-- may use. `asked` is the first. Answers its amount and tokens as numbers, too.
local function hold_for(call, at, asked, tokens_max, available)
  local who, amount, tokens, allowed = call.who, 0, 0, nil
  for index = 0, tonumber(ARGV[at + asked_argv.candidate_count]) - 1 do
    local candidate = index == 0 and asked or candidate_at(at + asked_size + index * candidate_size)
    local own, limit
    if may_use(who.models, candidate.model) and candidate.tokens <= tokens_max then own, limit = grant_of(candidate, available) end
    if own then
      local text = text_in(call, index) .. ':' .. text_in(call, limit)
      allowed = allowed and allowed .. ',' .. text or text
      amount, tokens = math.max(amount, own), math.max(tokens, candidate.tokens)
    end
  end
  return {
    id = ARGV[at + asked_argv.request_id], organization = who.organization, key = who.key, day = call.use.plan.day,
    owners = call.use.plan.owners, second = call.second, amount = text_in(call, amount), tokens = text_in(call, tokens),
    deadline = text_in(call, now_ms + tonumber(ARGV[at + asked_argv.timeout_ms])), cost = '0', booked = '0', booked_id = '-',
    allowed = allowed, record = ARGV[at + asked_argv.record],
  }, amount, tokens
end

-- Whether charges have waited for Postgres too long. They wait in order: if the newest posted one is young,
-- the rest are, too.
local function is_overdue(posted_through)
  local too_old_ms = server_ms - 1 - tonumber(ARGV[admit_argv.unposted_age_ms_max])
  if tonumber(string.match(posted_through, '^%d+')) > too_old_ms then return false end
  return #redis.call('XRANGE', charges_name, '-', integer(too_old_ms), 'COUNT', 1) > 0
end

-- The least that a candidate may cost.
local function least_cost(candidate)
  local longest = candidate.longest or 0
  local least = longest > 0 and math.min(output_tokens_min, longest) or output_tokens_min
  return integer(math.min(candidate.prompt + candidate.per_token * (candidate.own or least), 4e15))
end

-- scope, period, limit, posted, pending, held, least cost, end of the window (empty: none), then values of the reason
local function refuse_budget(call, at, asked, budget, reason, ...)
  local scope, period, limit = budget.planned.scope, budget.planned.period, budget.planned.limit
  local posted, pending = budget.posted, budget.pending
  local held, needed, ends = integer(budget.held + call.amount), least_cost(asked), window_ends(period, call.who.zone)
  local told = {
    budget = scope .. ':' .. period, limit = limit, used = integer(tonumber(posted) + pending), held = held,
    needed = needed, reset = ends ~= '' and ends or nil,
  }
  return refuse(call, at, told, reason, scope, period, limit, posted, integer(pending), held, needed, ends, ...)
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

local function refuse_rate(call, at, which, limit, used, excess) -- limit, used, wait ms
  local wait = wait_for(call.use, which == 'rpm' and 1 or 2, excess)
  local told = { limit = integer(limit), used = integer(used), reset = integer(now_ms + wait) }
  return refuse(call, at, told, which, limit, used, wait)
end

-- The largest output limit of a candidate that `available` would cover, with nothing running; 0: none.
local function affordable_tokens(candidate, available)
  local per_token = candidate.per_token
  return per_token > 0 and math.max(0, math.floor((available - candidate.prompt) / per_token)) or 0
end

-- Where not even the whole balance, with nothing running, would cover the model asked for: that balance, what is held
-- of it, the least that the request may cost, the largest output limit that would fit.
local function refuse_balance(call, at, asked)
  local unspent = call.who.unspent
  local balance, held, needed = integer(unspent), integer(tonumber(call.who.held) + call.amount), least_cost(asked)
  local told = { limit = balance, held = held, needed = needed }
  return refuse(call, at, told, 'request_exceeds_balance', balance, held, needed, affordable_tokens(asked, unspent))
end

-- What the sums of the key and its organization leave to the first request of a call. Each hold takes the same from all.
local function left_to(who, use)
  local budget_left, budget_free, least_left, least_free, spent = left_of(budgets_of(who, use))
  return {
    is_overdue = is_overdue(who.posted_through), budget = budget_left, budget_free = budget_free, least = least_left, least_free = least_free, spent = spent,
    balance_free = who.unspent - tonumber(who.held),
  }
end

-- The hold of a request that an earlier one of the call made, or that its text has; or how it ended.
local function known_of(call, at, text)
  local held = call.holds and call.holds[ARGV[at + asked_argv.request_id]]
  if held then return held, nil end
  return parse_request(text)
end

-- What the request at `at` gets, given its text.
local function admit_one(call, at, text)
  if ARGV[at + asked_argv.candidate_count] == '0' then error('a request without candidates') end
  local who, use, held, ending = call.who, call.use, known_of(call, at, text)
  if ending then return refusal_of_nobody('already_ended') end
  if held then return admitted(call, held) end

  if call.refusal and call.refusal[1] == 'address_unchecked' then return refusal_of(who, use, unpack(call.refusal)) end
  if call.refusal then return refuse(call, at, {}, unpack(call.refusal)) end
  local asked = candidate_at(at + asked_size)
  if not may_use(who.models, asked.model) then return refuse(call, at, {}, 'model_not_allowed') end
  local left = call.left or left_to(who, use)
  call.left = left
  if left.is_overdue then return refusal_of(who, use, 'unavailable') end

  if asked.tokens > who.tpm then
    local tokens = integer(asked.tokens)
    local told = { limit = integer(who.tpm), needed = tokens }
    return refuse(call, at, told, 'request_too_large_for_tpm', who.tpm, tokens) -- limit, tokens
  end
  if left.spent then
    return refuse_budget(call, at, asked, left.spent, left.spent.planned.window and 'budget_exceeded' or 'daily_budget_exceeded')
  end
  if not grant_of(asked, who.unspent) then return refuse_balance(call, at, asked) end
  if not grant_of(asked, left.budget) then
    return refuse_budget(call, at, asked, left.least, 'request_exceeds_budget', affordable_tokens(asked, left.budget))
  end

  local excess_requests = use.requests + 1 - who.rpm
  if excess_requests > 0 then return refuse_rate(call, at, 'rpm', who.rpm, use.requests, excess_requests) end
  local excess_tokens = use.tokens + asked.tokens - who.tpm
  if excess_tokens > 0 then return refuse_rate(call, at, 'tpm', who.tpm, use.tokens, excess_tokens) end

  local balance_free, budget_free = left.balance_free - call.amount, left.budget_free - call.amount
  if not grant_of(asked, balance_free) then return refuse(call, at, {}, 'balance_reserved') end
  if not grant_of(asked, budget_free) then return refuse_budget(call, at, asked, left.least_free, 'budget_reserved') end

  local hold, amount, tokens = hold_for(call, at, asked, who.tpm - use.tokens, math.min(balance_free, budget_free))
  count_in(use, tokens)
  call.amount = call.amount + amount
  call.admitted[#call.admitted + 1] = hold
  if call.holds then call.holds[hold.id] = hold end
  return admitted(call, hold)
end

local function write_holds(holds)
  local ends = integer(now_ms + tonumber(ARGV[admit_argv.lease_ms]))
  if #holds == 1 then
    write_hold(holds[1].id, holds[1])
    redis.call('ZADD', due_name, ends, holds[1].id)
    return
  end
  local texts, due = {}, {}
  for index, hold in ipairs(holds) do
    texts[2 * index - 1], texts[2 * index] = request_name(hold.id), hold_text(hold)
    due[2 * index - 1], due[2 * index] = ends, hold.id
  end
  redis.call('MSET', unpack(texts))
  redis.call('ZADD', due_name, unpack(due))
end

-- Every hold and every sum of a call, each once.
local function write_admitted(call)
  local who, use, amount = call.who, call.use, integer(call.amount)
  begin_day(use.name, use.last_day, use.plan.day)
  write_use(use, call.amount)
  if amount ~= '0' then redis.call('HINCRBY', org_name(who.organization), 'held', amount) end
  hold_of_others(who, use.plan, amount)
  write_holds(call.admitted)
end

local function request_ids(starts)
  local ids = {}
  for index, at in ipairs(starts) do ids[index] = ARGV[at + asked_argv.request_id] end
  return ids
end

local function admit()
  read_clock()
  local starts, answers = all_asked(), {}
  local refusal, who = authenticate(ARGV[admit_argv.secret_hash], ARGV[admit_argv.run_id], ARGV[admit_argv.ips_id])
  if not who then
    for index = 1, #starts do answers[index] = refusal_of_nobody(refusal[1]) end
    return reply_of(answers)
  end

  local texts, use, are_several = texts_of(request_ids(starts)), use_of(who), #starts > 1
  slide(use)
  local call = {
    who = who, refusal = refusal, use = use, second = integer(use.second), amount = 0, admitted = {},
    holds = are_several and {}, texts = are_several and {},
  }
  for index, at in ipairs(starts) do answers[index] = try(admit_one, call, at, texts[index]) end
  if #call.admitted > 0 then write_admitted(call) end
  if call.listed then list_refused(who.organization, unpack(call.listed)) end
  return reply_of(answers)
end

offer('admit', admit)
