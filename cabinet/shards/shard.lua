--[[ What every script of a shard shares; put between the first line and the rest of each (scripts.ts).

  KEYS[1] mg:{sNN}:epoch; every other name is built here, under the same hash tag.
  ARGV[1] milliseconds added to Redis's clock: 0, unless a test moves the time.

  Amounts are whole nano-roubles as decimal strings. HINCRBY adds them up in 64 bits; Lua's doubles only compare
  them, or take differences of amounts that the wrappers bound to 4e15. A name here is the only place where it is made. ]]

local prefix = string.sub(KEYS[1], 1, -6)
local shard_name = prefix .. 'shard'     -- posted_through, cursor, loading, swept_at, swept_nonce, sweep_from
local charges_name = prefix .. 'charges' -- stream: request rank organization key day cost pending at record
local due_name = prefix .. 'due'         -- sorted set: request by end of lease, ms
local function cred_name(hash) return prefix .. 'cred:' .. hash end  -- version key organization valid_until state
local function key_name(id) return prefix .. 'key:' .. id end        -- version state blocked_by expires_at rpm tpm
                                                                     -- daily_budget models read_balance
local function win_name(id) return prefix .. 'win:' .. id end        -- seen last requests tokens r<second> t<second>
                                                                     -- day <day>:posted :version :pending :held
local function org_name(id) return prefix .. 'org:' .. id end        -- posted version pending held
local function hold_name(request) return prefix .. 'hold:' .. request end -- text of read_hold and write_hold
local function done_name(request) return prefix .. 'done:' .. request end -- '<rank> <cost> <stream id, or ->'
local function refused_name(organization) return prefix .. 'refused:' .. organization end -- list of JSON, newest first

local server_time = redis.call('TIME')
local server_ms = tonumber(server_time[1]) * 1000 + math.floor(tonumber(server_time[2]) / 1000)
local now_ms = server_ms + tonumber(ARGV[1])

-- Moscow is UTC+3 all year.
local moscow_ms, day_ms = 10800000, 86400000
local today = math.floor((now_ms + moscow_ms) / day_ms)
local function end_of_day_ms(day) return (day + 1) * day_ms - moscow_ms end

-- A whole number as a decimal string; tostring() would say 1e+15, and is slower.
local function integer(number) return string.format('%d', number) end

-- HINCRBY knows no '-0'.
local function minus(amount)
  if amount == '0' then return amount end
  if string.sub(amount, 1, 1) == '-' then return string.sub(amount, 2) end
  return '-' .. amount
end

-- The shard's past: nonce of its epoch, and the stream id up to which Postgres has everything.
local function mark()
  return redis.call('HGET', KEYS[1], 'nonce') or '', redis.call('HGET', shard_name, 'posted_through') or '0-0'
end

-- Whether `day` is one of the two days kept for a key, after room was made for it if it is a new one.
local newest_day = {} -- by win:<id>, read once
local function keeps_day(win, day)
  local newest = newest_day[win] or tonumber(redis.call('HGET', win, 'day'))
  newest_day[win] = newest
  if newest and day <= newest then return day >= newest - 1 end
  newest_day[win] = day
  redis.call('HSET', win, 'day', integer(day))
  if newest then
    for old = newest - 1, math.min(newest, day - 2) do
      local gone = integer(old)
      redis.call('HDEL', win, gone .. ':posted', gone .. ':version', gone .. ':pending', gone .. ':held')
    end
  end
  return true
end

-- Adds `amount` to `field` (pending or held) of an organization and of a key's day.
local function add(field, amount, organization, key, day)
  if amount == '0' then return end
  redis.call('HINCRBY', org_name(organization), field, amount)
  local win = win_name(key)
  if keeps_day(win, tonumber(day)) then redis.call('HINCRBY', win, day .. ':' .. field, amount) end
end

-- What became of a request: rank, cost, stream id; nothing when it is unknown.
local function ending_of(request)
  local done = redis.call('GET', done_name(request))
  if not done then return nil end
  local rank, cost, id = string.match(done, '^(%d) (%d+) (%S+)$')
  return tonumber(rank), cost, id
end

-- A hold is one text, not a hash: it is read and written whole, and its record is too long for a compact hash.
local function read_hold(request)
  local text = redis.call('GET', hold_name(request))
  if not text then return nil end
  local hold = {}
  hold.organization, hold.key, hold.day, hold.second, hold.amount, hold.tokens, hold.allowed, hold.cost, hold.record =
    string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  return hold
end

local function write_hold(request, hold)
  redis.call('SET', hold_name(request), table.concat({ hold.organization, hold.key, hold.day, hold.second, hold.amount,
    hold.tokens, hold.allowed, hold.cost, hold.record }, ' '))
end
