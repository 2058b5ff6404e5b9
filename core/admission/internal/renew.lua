--[[ Extends the leases of running requests and notes what they have delivered so far.

  ARGV[2] lease, ms
  ARGV[3…] for each: request id, cost so far, record, organization, key, day, owners, second, amount, tokens, deadline
  Returns { nonce, posted_through, request ids that have ended … }
  Writes request:<id>, due, org:<id>, use:<key>, spend:<member>. Works without an epoch.
  A hold that Redis has lost is made again, one that was swept has a lease again; one that has ended stays so. ]]

local renew_argv = { clock_offset_ms = 1, lease_ms = 2 }
local first_renewal, renewal_size = 3, 11

-- Answers false for a request that has ended.
local function renew_one(lease_ends_ms, request, cost, record, organization, key, day, owners, second, amount, tokens, deadline)
  local hold, ending = read_request(request)
  if ending then return false end
  if not hold then
    hold = {
      organization = organization, key = key, day = day, owners = owners, second = second, amount = amount, tokens = tokens,
      deadline = deadline, allowed = '0:0', cost = '0', booked = '0', booked_id = '-', record = record,
    }
    add('held', amount, hold)
  end
  -- An older report that arrives late must not undo a newer one.
  if tonumber(cost) >= tonumber(hold.cost) then hold.cost, hold.record = cost, record end
  write_hold(request, hold)
  redis.call('ZADD', due_name, integer(lease_ends_ms), request)
  return true
end

local function renew()
  read_clock()
  local answer = { mark() }
  for at = first_renewal, #ARGV, renewal_size do
    local is_running = renew_one(now_ms + tonumber(ARGV[renew_argv.lease_ms]), unpack(ARGV, at, at + renewal_size - 1))
    if not is_running then answer[#answer + 1] = ARGV[at] end
  end
  return answer
end

offer('renew', renew, { 'allow-oom' })
