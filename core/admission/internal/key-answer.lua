--[[ What is answered of a key, after key.lua. ]]

local key_argv = { clock_offset_ms = 1, run_id = 2, secret_hash = 3, ips_id = 4 }

local function append_to(list, ...)
  for i = 1, select('#', ...) do list[#list + 1] = (select(i, ...)) end
end

local function append_amounts(answer, who, use)
  append_to(answer, who.daily_budget, use.day_posted, use.day_pending, use.day_held, end_of_day_ms(today, who.zone))
  append_to(answer, who.posted, who.pending, who.held)
  local longer = {}
  for _, budget in ipairs(budgets_of(who, use)) do
    if budget.planned.window then longer[#longer + 1] = budget end
  end
  append_to(answer, #longer)
  for _, budget in ipairs(longer) do
    local planned = budget.planned
    append_to(answer, planned.scope, planned.period, planned.limit, budget.posted, integer(budget.pending), integer(budget.held),
      window_ends(planned.period, who.zone))
  end
  return answer
end

-- The limits and usage of a key, with its window moved to now, and when a full one has room for one more request.
local function usable(who, use)
  local answer = { 'usable', who.organization, who.key, who.models, who.expires_at,
    redis.call('HGET', key_name(who.key), 'read_balance'), who.keeps_hours }
  append_to(answer, limits_of(who, use))
  append_amounts(answer, who, use)
  local excess = use.requests + 1 - who.rpm
  append_to(answer, excess > 0 and wait_for(use, 1, excess) or 0)
  return answer
end

-- The reason why a key is rejected, and its usage.
local function refused(who, use, ...) return append_amounts(refusal_of(who, use, ...), who, use) end

-- The reply `answer` for the key in ARGV[3], with its window moved to now, or the problem with the key.
local function of_key(answer)
  read_clock()
  local refusal, who = authenticate(ARGV[key_argv.secret_hash], ARGV[key_argv.run_id], ARGV[key_argv.ips_id])
  if not who then return refusal_of_nobody(refusal[1]) end
  local use = use_of(who)
  slide(use)
  if refusal then return refused(who, use, unpack(refusal)) end
  return answer(who, use)
end
