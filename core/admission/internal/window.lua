--[[ Shared by `key` and `admit`, after shard.lua: days, weeks and months of an organization, and what budgets of them left.

  A window is a period's letter and number: d<day> w<week> m<month>, or t, which never ends. Days count from 1970-01-01
  in the organization's time zone, weeks begin on Monday, months count from year 0. Everything follows from the day.
  In spend:<owner> a window has posted and version, copies of Postgres, and pending and held of the requests that were
  admitted while it had a budget. `day` is the last day it was used on. ]]

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

-- The names of the present windows of the periods, and of their fields, until the day is another: the same for all owners.
local named_day, windows_named = nil, {}

local function names_of(period)
  if named_day ~= today then named_day, windows_named = today, {} end
  local names = windows_named[period]
  if not names then
    local window = window_of(period, today)
    names = { window = window, posted = window .. ':posted', pending = window .. ':pending', held = window .. ':held' }
    windows_named[period] = names
  end
  return names
end

-- Reads the last budgets, from `first` on, which are all of one owner.
-- What began before a key's budget was set counts with the day that it began on.
local function read_budgets(budgets, first, fields, who, use)
  local scope = budgets[first].scope
  local name = spend_name_of(scope, who)
  local known = redis.call('HMGET', name, 'day', unpack(fields))
  local place = 2
  for index = first, #budgets do
    local budget = budgets[index]
    budget.posted, budget.pending, budget.held = known[place] or '0', known[place + 1] or '0', known[place + 2] or '0'
    budget.held_here, budget.name, budget.last_day = budget.held, name, known[1]
    if scope == 'k' then
      if tonumber(use.day_pending) > tonumber(budget.pending) then budget.pending = use.day_pending end
      if tonumber(use.day_held) > tonumber(budget.held) then budget.held = use.day_held end
    end
    place = place + 3
  end
end

-- The budgets of a request, each with what was spent of its present window: the day's of its key first, then longer ones.
local function budgets_of(who, use)
  local budgets = {}
  if tonumber(who.daily_budget) then
    budgets[1] = { scope = 'k', period = 'd', limit = who.daily_budget, posted = use.day_posted, pending = use.day_pending, held = use.day_held }
  end
  if who.budgets == '' then return budgets end

  local first, scope_read, fields = #budgets + 1, nil, nil
  for scope, period, limit in string.gmatch(who.budgets, '([^:,]+):(%l):(%d+)') do
    if scope ~= scope_read then
      if scope_read then read_budgets(budgets, first, fields, who, use) end
      scope_read, fields, first = scope, {}, #budgets + 1
    end
    local names = names_of(period)
    budgets[#budgets + 1] = { scope = scope, period = period, limit = limit, window = names.window, held_name = names.held }
    local count = #fields
    fields[count + 1], fields[count + 2], fields[count + 3] = names.posted, names.pending, names.held
  end
  read_budgets(budgets, first, fields, who, use)
  return budgets
end

-- The windows that a request counts in, as a hold has them.
local function windows_text(budgets)
  local windows = {}
  for _, budget in ipairs(budgets) do
    if budget.window then windows[#windows + 1] = budget.scope .. ':' .. budget.window end
  end
  return #windows == 0 and '-' or table.concat(windows, ',')
end

-- Whether a window is over since more than two days and is not that of the day used last.
local function is_over_for_long(period, number, last_day)
  if last_day and period .. number == window_of(period, tonumber(last_day)) then return false end
  return tonumber(number) < tonumber(string.sub(window_of(period, today - 2), 2))
end

-- Forgets past windows at the first request of a day, but none that a zone or a clock which goes back by a little would
-- enter again. Where something is pending or held that goes on until it is taken back.
local function begin_windows_of(name, last_day, day)
  redis.call('HSET', name, 'day', day)
  local known, gone = redis.call('HGETALL', name), {}
  for at = 1, #known, 2 do
    local period, number, what = string.match(known[at], '^([dwm])(%d+):(%l+)$')
    local may_go = period and (what == 'posted' or what == 'version' or known[at + 1] == '0')
    if may_go and is_over_for_long(period, number, last_day) then gone[#gone + 1] = known[at] end
  end
  if #gone > 0 then redis.call('HDEL', name, unpack(gone)) end
end

local function begin_windows(budgets, day)
  local begun
  for _, budget in ipairs(budgets) do
    if budget.name and budget.last_day ~= day and budget.name ~= begun then
      begun = budget.name -- budgets of one owner follow each other
      begin_windows_of(budget.name, budget.last_day, day)
    end
  end
end

-- Adds what a request holds to the windows that were just read: one write for each owner.
local function hold_in_windows(budgets, amount)
  if amount == '0' then return end
  local name, values
  for _, budget in ipairs(budgets) do
    if budget.name and budget.name ~= name then
      if values then redis.call('HSET', name, unpack(values)) end
      name, values = budget.name, {}
    end
    if budget.name then
      values[#values + 1] = budget.held_name
      values[#values + 1] = integer(tonumber(budget.held_here) + tonumber(amount))
    end
  end
  if values then redis.call('HSET', name, unpack(values)) end
end
