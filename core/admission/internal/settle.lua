--[[ Turns a hold into a charge: gives the hold back, corrects RPM and TPM, and appends the charge for Postgres.

  ARGV[2] request id   ARGV[3] rank of the charge (shard.lua)   ARGV[4] cost
  ARGV[5] tokens really used, or none: no provider was called, so the request counts in RPM neither and leaves no entry:
    nothing else would limit how many there are
  ARGV[6] organization   ARGV[7] key   ARGV[8] day of admission   ARGV[9] record
  ARGV[10] instant of this server after which it is too late, ms ('': never): whoever waits is told by then that nothing
    was charged, and a server that stood still must not book it afterwards

  Returns 'stream_id-or-- cost_that_counts nonce posted_through'; the stream id is 'late' where it was too late, and
  then nothing was written
  Writes request:<id>, due, org:<id>, use:<key>, charges.
  Works without an epoch and without a hold (Redis lost it): then nothing is given back.
  A request that ended with this rank or a higher one answers what was stored. A higher rank adds to `pending` only
  what its cost differs; Postgres, by ranks, decides what is booked. ]]

local function is_late(until_ms)
  if until_ms == '' then return false end
  read_clock()
  return now_ms > tonumber(until_ms)
end

local function settle()
  local request, rank, cost = ARGV[2], tonumber(ARGV[3]), ARGV[4]
  local hold, ending = read_request(request)
  if ending and rank <= ending.rank then return ended(ending.id, ending.cost) end
  if is_late(ARGV[10]) then return ended('late', '0') end

  if hold then release(request, hold, ARGV[5]) end
  if ARGV[5] == 'none' then
    local booked, id = hold and hold.booked or '0', hold and hold.booked_id or '-'
    remember_ending(request, rank_released, booked, id)
    return ended(id, booked)
  end
  local booked = ending and ending.cost or hold and hold.booked or '0'
  local pending = integer(tonumber(cost) - tonumber(booked))
  local of = { organization = ARGV[6], key = ARGV[7], day = ARGV[8] }
  return ended(book(request, ARGV[3], cost, pending, of, ARGV[9]), cost)
end

offer('settle', settle, { 'allow-oom' })
