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
local function hold_name(request) return prefix .. 'hold:' .. request end -- organization key day second amount tokens
                                                                          -- cost record allowed
local function done_name(request) return prefix .. 'done:' .. request end -- '<rank> <cost> <stream id, or ->'
local function refused_name(organization) return prefix .. 'refused:' .. organization end -- list of JSON, newest first

local done_seconds = 1800

local server_time = redis.call('TIME')
local server_ms = tonumber(server_time[1]) * 1000 + math.floor(tonumber(server_time[2]) / 1000)
local now_ms = server_ms + tonumber(ARGV[1])

-- Moscow is UTC+3 all year.
local moscow_ms, day_ms = 10800000, 86400000
local today = math.floor((now_ms + moscow_ms) / day_ms)
local function end_of_day_ms(day) return (day + 1) * day_ms - moscow_ms end

-- A whole number as a decimal string; tostring() would say 1e+15.
local function integer(number) return string.format('%.0f', number) end

local function append_to(list, ...)
  for i = 1, select('#', ...) do list[#list + 1] = (select(i, ...)) end
end

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

-- Sets fields of a hash unless it has this version or a newer one. Answers how many hashes changed.
local function set_if_newer(name, version_field, version, ...)
  local known = redis.call('HGET', name, version_field)
  if known and tonumber(known) >= tonumber(version) then return 0 end
  redis.call('HSET', name, version_field, version, ...)
  return 1
end

local function set_key_day_if_newer(key, day, version, posted)
  local win = win_name(key)
  if not keeps_day(win, tonumber(day)) then return 0 end
  return set_if_newer(win, day .. ':version', version, day .. ':posted', posted)
end

-- What became of a request: rank, cost, stream id; nothing when it is unknown.
local function ending_of(request)
  local done = redis.call('GET', done_name(request))
  if not done then return nil end
  local rank, cost, id = string.match(done, '^(%d) (%d+) (%S+)$')
  return tonumber(rank), cost, id
end

local function remember_ending(request, rank, cost, id)
  redis.call('SET', done_name(request), rank .. ' ' .. cost .. ' ' .. id, 'EX', done_seconds)
end

-- Corrects the TPM bucket of a hold's second to what was really used, while that bucket is in the window.
-- Never below zero: after a loss of data a bucket may not contain what its hold had added.
local function correct_tokens(hold, used)
  local win, bucket = win_name(hold.key), 't' .. hold.second
  local counted = tonumber(redis.call('HGET', win, bucket))
  local difference = math.max(used - tonumber(hold.tokens), -(counted or 0))
  if not counted or difference == 0 then return end
  redis.call('HINCRBY', win, bucket, integer(difference))
  redis.call('HINCRBY', win, 'tokens', integer(difference))
end

-- Gives a hold back and answers it, or nothing when there is none. `used`: tokens really used, or nil if unknown.
local function release(request, used)
  local name = hold_name(request)
  local fields = redis.call('HMGET', name, 'organization', 'key', 'day', 'second', 'amount', 'tokens', 'cost', 'record')
  redis.call('ZREM', due_name, request)
  if not fields[1] then return nil end
  local hold = {
    organization = fields[1], key = fields[2], day = fields[3], second = fields[4],
    amount = fields[5], tokens = fields[6], cost = fields[7], record = fields[8],
  }
  add('held', minus(hold.amount), hold.organization, hold.key, hold.day)
  if used then correct_tokens(hold, used) end
  redis.call('DEL', name)
  return hold
end

-- Appends an entry for Postgres, adds `pending` to what waits, and remembers the ending. Answers the stream id.
local function book(request, rank, cost, pending, of, record)
  add('pending', pending, of.organization, of.key, of.day)
  local id = redis.call('XADD', charges_name, '*', 'request', request, 'rank', rank, 'organization', of.organization,
    'key', of.key, 'day', of.day, 'cost', cost, 'pending', pending, 'at', integer(now_ms), 'record', record)
  remember_ending(request, rank, cost, id)
  return id
end
