--[[ Shared by `key` and `admit`, after shard.lua: days, weeks and months of an organization, and what budgets of them left.

  A window is a period's letter and number: d<day> w<week> m<month>, or t, which never ends. Days count from 1970-01-01
  in the organization's time zone, weeks begin on Monday, months count from year 0. Everything follows from the day.
  A window has posted and version, copies of Postgres. What is pending or held in it is that of its days: no request that
  runs, and no charge that waits, is older than a day. A key's days and windows are in use:<key>, an organization's in
  org:<id>, a member's in spend:<organization>.<member>. `day` is the last day that they were used on. ]]

-- `zone`: an offset from UTC in ms; or several, each followed by the instant at which the next one begins.
local function offset_at(zone, instant)
  if not zone or zone == '' then return moscow_ms end
  local fixed = tonumber(zone)
  if fixed then return fixed end
  local last
  for offset, ends in string.gmatch(zone, '(%-?%d+) ?(%d*)') do
    last = tonumber(offset)
    if ends == '' or instant < tonumber(ends) then return last end
  end
  return last
end

local function read_zone(zone) today = math.floor((now_ms + offset_at(zone, now_ms)) / day_ms) end

-- When a day begins in a zone, whose clocks may change between now and then.
local function begin_of_day_ms(day, zone)
  local first = day * day_ms - offset_at(zone, now_ms)
  return day * day_ms - offset_at(zone, first)
end

local function end_of_day_ms(day, zone) return begin_of_day_ms(day + 1, zone) end

-- Months since year 0; the calendar of days since 0000-03-01, in years that begin in March.
local function month_of(day)
  local era_day = day + 719468
  local era = math.floor(era_day / 146097)
  local of_era = era_day - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local from_march = math.floor((5 * of_year + 2) / 153)
  return (era * 400 + year) * 12 + from_march + 2
end

-- The first day of a month.
local function first_day_of(month)
  local from_march = (month + 10) % 12
  local years = (month - 2 - from_march) / 12
  local era = math.floor(years / 400)
  local year = years - era * 400
  return era * 146097 + year * 365 + math.floor(year / 4) - math.floor(year / 100) + math.floor((153 * from_march + 2) / 5) - 719468
end

local function window_of(period, day)
  if period == 'd' then return 'd' .. integer(day) end
  if period == 'w' then return 'w' .. integer(math.floor((day + 3) / 7)) end
  if period == 'm' then return 'm' .. integer(month_of(day)) end
  return 't'
end

-- When the present window of a period ends, ms as text; empty: never.
local function window_ends(period, zone)
  if period == 'd' then return integer(end_of_day_ms(today, zone)) end
  if period == 'w' then return integer(begin_of_day_ms(math.floor((today + 3) / 7) * 7 + 4, zone)) end
  if period == 'm' then return integer(begin_of_day_ms(first_day_of(month_of(today) + 1), zone)) end
  return ''
end

local function fields_of_day(fields, day)
  fields[#fields + 1], fields[#fields + 2] = integer(day) .. ':pending', integer(day) .. ':held'
end

-- Those of the days before and after today: a zone or a clock that went back left them.
local function fields_of_neighbors(fields)
  fields_of_day(fields, today - 1)
  fields_of_day(fields, today + 1)
end

-- How the budgets of a text count on a day. `fields` is what to read of the key, `of_key` its own budgets; `others`: the
-- same of each other owner, by scope.
local function read_plan(text)
  local day = integer(today)
  local plan = {
    day = day, held = day .. ':held', of_key = {}, others = {}, owners = '-',
    fields = { 'day', day .. ':posted', day .. ':pending', day .. ':held', 'sum', '' }, -- the sixth: of the second
  }
  for scope, period, limit in string.gmatch(text, '([^:,]+):(%l):(%d+)') do
    local window, group = window_of(period, today), plan.others[#plan.others]
    local budgets, fields = plan.of_key, plan.fields
    if scope == 'k' then
      if #budgets == 0 then fields_of_neighbors(fields) end
    else
      if not group or group.scope ~= scope then
        group = { scope = scope, fields = { 'day' }, budgets = {} }
        fields_of_day(group.fields, today)
        fields_of_neighbors(group.fields)
        plan.others[#plan.others + 1] = group
        plan.owners = plan.owners == '-' and scope or plan.owners .. ',' .. scope
      end
      budgets, fields = group.budgets, group.fields
    end
    budgets[#budgets + 1] = {
      scope = scope, period = period, limit = limit, most = tonumber(limit), window = window, has_before = window_of(period, today - 1) == window,
      has_after = window_of(period, today + 1) == window,
    }
    fields[#fields + 1] = window .. ':posted'
  end
  return plan
end

-- Each plan is made once, for all keys with the same budgets: of those used last, which fit into a few 100 kB.
local plans, plan_count, plan_count_max = {}, 0, 500

local function plan_of(text)
  local of_day = plans[today]
  local known = of_day and of_day[text]
  if known then return known end
  if plan_count >= plan_count_max then plans, plan_count = {}, 0 end
  plans[today] = plans[today] or {}
  local plan = read_plan(text)
  plans[today][text], plan_count = plan, plan_count + 1
  return plan
end

-- A budget, and what it leaves if holds count or not. Limit and posted are texts: they may be too large for doubles.
local function budget_of(planned, posted, pending, held)
  local left = planned.most - tonumber(posted) - pending
  return { planned = planned, posted = posted, pending = pending, held = held, left = left, free = left - held }
end

-- Adds those of one owner. `known`: from `today_at` on what is pending and held today, from `beside_at` on that of the days
-- before and after, and what was posted in each window.
local function add_budgets(budgets, planned, known, today_at, beside_at)
  if #planned == 0 then return end
  local pending, held = tonumber(known[today_at]) or 0, tonumber(known[today_at + 1]) or 0
  local before_pending, before_held = known[beside_at] or 0, known[beside_at + 1] or 0
  local after_pending, after_held = known[beside_at + 2] or 0, known[beside_at + 3] or 0
  for index = 1, #planned do
    local one, own_pending, own_held = planned[index], pending, held
    if one.has_before then own_pending, own_held = own_pending + before_pending, own_held + before_held end
    if one.has_after then own_pending, own_held = own_pending + after_pending, own_held + after_held end
    budgets[#budgets + 1] = budget_of(one, known[beside_at + 3 + index] or '0', own_pending, own_held)
  end
end

-- The budgets of a request, each with what was spent of its present window: the day's of its key first, then longer ones.
local function budgets_of(who, use)
  local budgets = {}
  local of_day = tonumber(who.daily_budget)
  if of_day then
    local planned = { scope = 'k', period = 'd', limit = who.daily_budget, most = of_day }
    budgets[1] = budget_of(planned, use.day_posted, tonumber(use.day_pending), tonumber(use.day_held))
  end
  add_budgets(budgets, use.plan.of_key, use.known, 3, 7)
  for _, group in ipairs(use.plan.others) do
    local known = redis.call('HMGET', spend_name_of(group.scope, who), unpack(group.fields))
    group.last_day = known[1] -- of this call
    add_budgets(budgets, group.budgets, known, 2, 4)
  end
  return budgets
end

-- Whether a window is over since more than two days and is not that of the day used last.
local function is_over_for_long(period, number, last_day)
  if last_day and period .. number == window_of(period, tonumber(last_day)) then return false end
  return tonumber(number) < tonumber(string.sub(window_of(period, today - 2), 2))
end

-- Forgets past days and windows at the first request of a day, but none that a zone or a clock which goes back by a little
-- would enter again, and none to come. Where something is pending or held that goes on until it is taken back; `posted`
-- is a copy, which a comparison would bring again.
local function begin_day(name, last_day, day)
  if last_day == day then return end
  redis.call('HSET', name, 'day', day)
  local known, gone = redis.call('HGETALL', name), {}
  for at = 1, #known, 2 do
    local period, number, what = string.match(known[at], '^([dwm]?)(%d+):(%l+)$')
    local may_go = period and (what == 'posted' or what == 'version' or known[at + 1] == '0')
    if may_go and is_over_for_long(period == '' and 'd' or period, number, last_day) then gone[#gone + 1] = known[at] end
  end
  if #gone > 0 then redis.call('HDEL', name, unpack(gone)) end
end

-- Adds what a request holds to the day of other owners.
local function hold_of_others(who, plan, amount)
  for _, group in ipairs(plan.others) do
    local name = spend_name_of(group.scope, who)
    begin_day(name, group.last_day, plan.day)
    if amount ~= '0' then redis.call('HINCRBY', name, plan.held, amount) end
  end
end
