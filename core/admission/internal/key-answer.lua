--[[ What is answered of a key, after key.lua. ]]

local function append_to(list, ...)
  for i = 1, select('#', ...) do list[#list + 1] = (select(i, ...)) end
end

local function append_amounts(answer, who, use)
  append_to(answer, who.daily_budget, use.day_posted, use.day_pending, use.day_held, end_of_day_ms(today))
  append_to(answer, who.posted, who.pending, who.held)
  return answer
end

-- What a key may do and has used, with its window moved to now.
local function usable(who, use)
  local answer = { 'usable', who.organization, who.key, who.models, who.expires_at,
    redis.call('HGET', key_name(who.key), 'read_balance') }
  append_to(answer, limits_of(who, use))
  return append_amounts(answer, who, use)
end

-- What refuses a key, and what it has used all the same.
local function refused(who, use, ...) return append_amounts(refusal_of(who, use, ...), who, use) end

-- What `answer` says of the key in ARGV[3], with its window moved to now; or what is wrong with the key.
local function of_key(answer)
  read_clock()
  local refusal, who = authenticate(ARGV[3], ARGV[2])
  if not who then return refusal_of_nobody(refusal[1]) end
  local use = use_of(who.key)
  slide(use)
  if refusal then return refused(who, use, unpack(refusal)) end
  return answer(who, use)
end
