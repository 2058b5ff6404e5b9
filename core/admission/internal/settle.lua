--[[ Turns a hold into a charge: gives the hold back, corrects RPM and TPM, and appends the charge for Postgres.

  ARGV[2] request id   ARGV[3] rank of the charge (shard.lua)   ARGV[4] cost
  ARGV[5] tokens really used, or none: no provider was called, so the request counts in RPM neither and leaves no entry:
    nothing else would limit how many there are
  ARGV[6] organization   ARGV[7] key   ARGV[8] day of admission   ARGV[9] owners   ARGV[10] record
  ARGV[11] instant of this server after which it is too late, ms ('': never): whoever waits is told by then that nothing
    was charged, and a server that stood still must not book it afterwards

  Returns 'stream_id-or-- cost_that_counts nonce posted_through'; the stream id is 'late' where it was too late, and
  then nothing was written
  Writes request:<id>, due, org:<id>, use:<key>, spend:<member>, charges.
  Works without an epoch and without a hold (Redis lost it): then nothing is given back.
  A request that ended with this rank or a higher one answers what was stored. A higher rank adds to `pending` only
  what its cost differs; Postgres, by ranks, decides what is booked. ]]

local settle_argv = {
  clock_offset_ms = 1, request_id = 2, rank = 3, cost = 4, tokens = 5, organization = 6, key = 7, day = 8, owners = 9,
  record = 10, until_ms = 11,
}

local function is_late(until_ms)
  if until_ms == '' then return false end
  read_clock()
  return now_ms > tonumber(until_ms)
end

local function settle()
  local request, rank, cost = ARGV[settle_argv.request_id], tonumber(ARGV[settle_argv.rank]), ARGV[settle_argv.cost]
  local hold, ending = read_request(request)
  if ending and rank <= ending.rank then return ended(ending.id, ending.cost) end
  if is_late(ARGV[settle_argv.until_ms]) then return ended('late', '0') end

  if hold then release(request, hold, ARGV[settle_argv.tokens]) end
  if ARGV[settle_argv.tokens] == 'none' then
    local booked, id = hold and hold.booked or '0', hold and hold.booked_id or '-'
    remember_ending(request, rank_released, booked, id)
    return ended(id, booked)
  end
  local booked = ending and ending.cost or hold and hold.booked or '0'
  local pending = integer(tonumber(cost) - tonumber(booked))
  local of = { organization = ARGV[settle_argv.organization], key = ARGV[settle_argv.key], day = ARGV[settle_argv.day], owners = ARGV[settle_argv.owners] }
  return ended(book(request, ARGV[settle_argv.rank], cost, pending, of, ARGV[settle_argv.record]), cost)
end

offer('settle', settle, { 'allow-oom' })
