--[[ Extends the leases of running requests and notes what they have delivered so far.

  ARGV[2] lease, ms
  ARGV[3…] for each: request id, cost so far, record, organization, key, day, second, amount, tokens
  Returns { nonce, posted_through, request ids that have ended … }
  Writes request:<id>, due, org:<id>, use:<key>. Works without an epoch.
  A hold that Redis has lost is made again; one that has ended is not. Once the cost so far passes 80 % of a hold, the
  hold grows to 1.5 × that cost, whatever is available: a running answer is never cut for money. ]]

-- Answers false for a request that has ended.
local function renew_one(lease_ends_ms, request, cost, record, organization, key, day, second, amount, tokens)
  local hold, ending = read_request(request)
  if ending then return false end
  if not hold then
    hold = {
      organization = organization, key = key, day = day, second = second, amount = amount, tokens = tokens,
      allowed = '0', cost = '0', record = record,
    }
    add('held', amount, organization, key, day)
  end
  local held, delivered = tonumber(hold.amount), tonumber(cost)
  -- An older report that comes late must not take back what a newer one said.
  if delivered >= tonumber(hold.cost) then hold.cost, hold.record = cost, record end
  if delivered > 0.8 * held then
    local raised = math.floor(1.5 * delivered)
    hold.amount = integer(raised)
    add('held', integer(raised - held), organization, key, day)
  end
  write_hold(request, hold)
  redis.call('ZADD', due_name, integer(lease_ends_ms), request)
  return true
end

local function renew()
  read_clock()
  local answer = { mark() }
  for at = 3, #ARGV, 9 do
    local is_running = renew_one(now_ms + tonumber(ARGV[2]), unpack(ARGV, at, at + 8))
    if not is_running then answer[#answer + 1] = ARGV[at] end
  end
  return answer
end

offer('renew', renew, { 'allow-oom' })
