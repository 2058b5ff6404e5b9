--[[ Turns holds into charges: gives each back, corrects RPM and TPM, and appends the charge for Postgres.

  ARGV[2…] for each request, in order: request id, rank of the charge (shard.lua), cost,
    tokens really used, or none: no provider was called, so the request counts in RPM neither and leaves no entry: nothing
      else would limit how many there are,
    organization, key, day of admission, owners, record,
    instant of this server after which it is too late, ms ('': never): whoever waits is told by then that nothing
      was charged, and a server that stood still must not book it afterwards

  Returns for each (reply_of) 'stream_id-or-- cost_that_counts nonce posted_through', or its error; the stream id is 'late' where it
  was too late, and then nothing was written
  Writes request:<id>, due, org:<id>, use:<key>, spend:<member>, charges: each sum once, and each request as in a call for itself.
  Works without an epoch and without a hold (Redis lost it): then nothing is given back.
  A request that ended with this rank or a higher one answers what was stored. A higher rank adds to `pending` only
  what its cost differs; Postgres, by ranks, decides what is booked. ]]

local settle_argv = { clock_offset_ms = 1 }
-- Of each request, from its `at` on.
local charge_argv = {
  request_id = 0, rank = 1, cost = 2, tokens = 3, organization = 4, key = 5, day = 6, owners = 7, record = 8, until_ms = 9,
}
local first_charge, charge_size = 2, 10

local function is_late(until_ms)
  if until_ms == '' then return false end
  if not now_ms then read_clock() end
  return now_ms > tonumber(until_ms)
end

-- Decides on a request, given its text, and writes its sums: at once, or later with those of others in `endings`. With `of`: an entry is to be appended; else `id` is known. `rank`: of the ending to remember, if any.
local function decide_charge(endings, at, text)
  local request, rank, cost, tokens = ARGV[at + charge_argv.request_id], ARGV[at + charge_argv.rank], ARGV[at + charge_argv.cost], ARGV[at + charge_argv.tokens]
  local hold, ending = parse_request(text)
  if ending and tonumber(rank) <= ending.rank then return { id = ending.id, cost = ending.cost } end
  if is_late(ARGV[at + charge_argv.until_ms]) then return { id = 'late', cost = '0' } end

  local booked = ending and ending.cost or hold and hold.booked or '0'
  local pending = integer(tonumber(cost) - tonumber(booked))
  if hold and endings then release_later(endings, request, hold, tokens) elseif hold then release(request, hold, tokens) end
  if tokens == 'none' then
    return { request = request, rank = rank_released, id = hold and hold.booked_id or '-', cost = hold and hold.booked or '0' }
  end
  local of = {
    organization = ARGV[at + charge_argv.organization], key = ARGV[at + charge_argv.key], day = ARGV[at + charge_argv.day],
    owners = ARGV[at + charge_argv.owners],
  }
  if endings then add_later(endings.sums, 'pending', pending, of) else add('pending', pending, of) end
  return { request = request, rank = rank, cost = cost, pending = pending, of = of, record = ARGV[at + charge_argv.record] }
end

local function write_charge(charge, marked)
  local id = charge.id or append_entry(charge.request, charge.rank, charge.cost, charge.pending, charge.of, charge.record)
  if charge.rank then remember_ending(charge.request, charge.rank, charge.cost, id) end
  return ended(id, charge.cost, marked)
end

-- The ids of the requests from `first` on, up to one that repeats: that one needs to see what became of the first.
local function distinct_from(first)
  local requests, known = {}, {}
  for at = first, #ARGV, charge_size do
    local request = ARGV[at + charge_argv.request_id]
    if known[request] then break end
    known[request] = true
    requests[#requests + 1] = request
  end
  return requests
end

local function settle_one(at)
  local charge = decide_charge(nil, at, redis.call('GET', request_name(ARGV[at + charge_argv.request_id])))
  return write_charge(charge, mark_text())
end

local function settle_all()
  local answers, first, marked = {}, first_charge, mark_text()
  while first <= #ARGV do
    local requests = distinct_from(first)
    local endings, charges = begin_endings(), {}
    for index, text in ipairs(texts_of(requests)) do
      charges[index] = try(decide_charge, endings, first + (index - 1) * charge_size, text)
    end
    write_endings(endings)
    for _, charge in ipairs(charges) do
      answers[#answers + 1] = charge.err and charge or try(write_charge, charge, marked)
    end
    first = first + #requests * charge_size
  end
  return answers
end

local function settle()
  now_ms = nil
  if first_charge + charge_size > #ARGV then return settle_one(first_charge) end
  return settle_all()
end

offer('settle', settle, { 'allow-oom' })
