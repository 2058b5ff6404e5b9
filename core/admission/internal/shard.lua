--[[ What every script of a shard shares. First of the library and of every worker's script (scripts.ts).

  KEYS[1] mg:{sNN}:epoch; every other name is built here, under the same hash tag.
  ARGV[1] milliseconds added to Redis's clock: 0, unless a test moves the time.

  Amounts are whole nano-rubles as decimal strings. HINCRBY adds them up in 64 bits; Lua's doubles only compare
  them, or take differences of amounts that the wrappers bound to 4e15. Names are built only here. ]]

-- Kinds of charges, as the stream and Postgres number them: of a request's charges the first one of the highest rank counts.
local rank_released = '0' -- the hold was released or swept; 1: settled, 2: corrected, as in ARGV of `settle`
local rank_pattern = '^[012]$'

-- Of the present call.
local prefix
local epoch_name   -- nonce run_id opens_at posted_through
local shard_name   -- cursor, loading, swept_at, swept_nonce, sweep_from
local charges_name -- stream: request rank organization key day owners cost pending record
local due_name     -- sorted set: request by end of lease, ms
local recently_refused_name -- sorted set: organization by time of its last rejection, ms
local server_ms, now_ms, today -- once read_clock was called; `today` is Moscow's until a zone is read (window.lua)

local function cred_name(hash) return prefix .. 'cred:' .. hash end -- version key organization valid_until state
local function key_name(id) return prefix .. 'key:' .. id end       -- version state blocked_by expires_at rpm tpm
                                                                    -- daily_budget budgets models ips ips_id read_balance keeps_hours
local function use_name(id) return prefix .. 'use:' .. id end       -- day <day>:posted :version :pending :held, <window>:… (window.lua)
                                                                    -- counts (minute.lua)
local function org_name(id) return prefix .. 'org:' .. id end       -- posted version pending held zone budgets zone_version
                                                                    -- day <window>:…
local function spend_name(member) return prefix .. 'spend:' .. member end -- day <window>:…; member: <organization>.<user>
local function request_name(id) return prefix .. 'request:' .. id end -- text of read_request
local function refused_name(organization) return prefix .. 'refused:' .. organization end -- list of JSON, newest first

local day_ms = 86400000
-- Of an organization without a zone in Redis: Moscow is UTC+3 all year.
local moscow_ms = 10800000

-- First of every call.
local function begin()
  epoch_name = KEYS[1]
  prefix = string.sub(epoch_name, 1, -6)
  shard_name, charges_name, due_name = prefix .. 'shard', prefix .. 'charges', prefix .. 'due'
  recently_refused_name = prefix .. 'refused:recent'
end

local function read_clock()
  local time = redis.call('TIME')
  server_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  now_ms = server_ms + tonumber(ARGV[1])
  today = math.floor((now_ms + moscow_ms) / day_ms)
end

-- A whole number as a decimal string; tostring() would say 1e+15, and is slower.
local function integer(number) return string.format('%d', number) end

-- HINCRBY does not support '-0'.
local function minus(amount)
  if amount == '0' then return amount end
  if string.sub(amount, 1, 1) == '-' then return string.sub(amount, 2) end
  return '-' .. amount
end

-- The shard's mark: nonce of its epoch, and the stream id up to which Postgres has everything.
local function mark()
  local epoch = redis.call('HMGET', epoch_name, 'nonce', 'posted_through')
  return epoch[1] or '', epoch[2] or '0-0'
end

-- The hash of an owner of the request `of`, and whose it is. `scope`: k: its key's, o: its organization's, else a member
-- of that.
local function spend_name_of(scope, of)
  if scope == 'k' then return use_name(of.key), of.key end
  if scope == 'o' then return org_name(of.organization), of.organization end
  local member = of.organization .. '.' .. scope
  return spend_name(member), member
end

-- Adds `amount` to `field` (pending or held) of an organization and of the day of a key and of other owners, whichever
-- day that is: what is added here is taken back one day, and both must meet the same sum.
local function add_all(field, amount, of)
  redis.call('HINCRBY', org_name(of.organization), field, amount)
  redis.call('HINCRBY', use_name(of.key), of.day .. ':' .. field, amount)
  if of.owners == '-' then return end
  for scope in string.gmatch(of.owners, '[^,]+') do
    redis.call('HINCRBY', (spend_name_of(scope, of)), of.day .. ':' .. field, amount)
  end
end

local function add(field, amount, of)
  if amount ~= '0' then add_all(field, amount, of) end
end

-- Below this doubles are exact, also twice as far. Our amounts are not larger.
local summed_max = 4e15

-- Collects what is to be added in `sums`: what requests of one key, day and owners add is written as one amount.
local function add_later(sums, field, amount, of)
  if amount == '0' then return end
  local name = field .. ' ' .. of.organization .. ' ' .. of.key .. ' ' .. of.day .. ' ' .. of.owners
  local sum = sums[name]
  if not sum then
    sum = { field = field, of = of, amount = 0 }
    sums[name] = sum
  end
  local total = sum.amount + tonumber(amount)
  if total > summed_max or total < -summed_max then
    add_all(field, amount, of)
  else
    sum.amount = total
  end
end

-- Also a sum of 0: its fields are then there, as if each amount had been added by itself.
local function write_sums(sums)
  for _, sum in pairs(sums) do add_all(sum.field, integer(sum.amount), sum.of) end
end

-- A request: its hold, or how it ended ({ rank, cost, stream id or - }); neither if it is unknown.
-- One text: it is read and written whole, its record is too long for a compact hash, and a request that has ended
-- holds nothing.
-- A hold whose lease ran out was swept: `booked` is the amount charged, `booked_id` its entry, and `amount` the rest,
-- which stays held until `deadline` because its gateway may only be cut off.
-- `owners` are the scopes of budgets that it counts in besides its key's, by commas; - or absent: none.
-- The first release has the same text with only `allowed` where deadline, `booked`, `booked_id`, `allowed` and `owners` are
-- between slashes: it reads no more there, and its holds have no time beyond their lease.
local function parse_request(text)
  if not text then return nil, nil end
  if string.sub(text, 1, 1) == 'e' then
    local rank, cost, id = string.match(text, '^ended (%d) (%d+) (%S+)$')
    return nil, { rank = tonumber(rank), cost = cost, id = id }
  end
  local organization, key, day, second, amount, tokens, more, cost, record_at =
    string.match(text, '^held (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%d+) ()')
  -- not written by our scripts: it must not keep the sweep from the others
  if not more then return nil, nil end
  local deadline, booked, booked_id, allowed, owners = string.match(more, '^(%d+)/(%d+)/([^/]+)/([^/]+)/?(.*)$')
  if not deadline then deadline, booked, booked_id, allowed = '0', '0', '-', more end
  if not owners or owners == '' then owners = '-' end
  return {
    organization = organization, key = key, day = day, second = second, amount = amount, tokens = tokens, cost = cost,
    deadline = deadline, booked = booked, booked_id = booked_id, allowed = allowed, owners = owners,
    record = string.sub(text, record_at),
  }, nil
end

local function read_request(request) return parse_request(redis.call('GET', request_name(request))) end

-- The texts of several requests; false for one that is unknown.
local function texts_of(requests)
  if #requests == 1 then return { redis.call('GET', request_name(requests[1])) } end
  local names = {}
  for index, request in ipairs(requests) do names[index] = request_name(request) end
  return redis.call('MGET', unpack(names))
end

local function hold_text(hold)
  local allowed = hold.owners == '-' and hold.allowed or hold.allowed .. '/' .. hold.owners
  return 'held ' .. hold.organization .. ' ' .. hold.key .. ' ' .. hold.day .. ' ' .. hold.second .. ' ' .. hold.amount .. ' ' ..
    hold.tokens .. ' ' .. hold.deadline .. '/' .. hold.booked .. '/' .. hold.booked_id .. '/' .. allowed .. ' ' .. hold.cost .. ' ' ..
    hold.record
end

local function write_hold(request, hold) redis.call('SET', request_name(request), hold_text(hold)) end
