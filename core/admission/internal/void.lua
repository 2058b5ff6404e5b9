--[[ Gives a hold back that became nothing. An admitted request leaves a record of cost 0.

  ARGV[2] request id   ARGV[3] record
  Returns 'stream_id-or-- cost_that_counts nonce posted_through'
  Writes request:<id>, due, org:<id>, use:<key>, spend:<member>, charges.
  A request that has ended answers what was stored. An unknown one is only remembered as ended, so that an admit
  still on its way makes no hold. No provider was called: nothing of the request stays in RPM or TPM. ]]

local void_argv = { clock_offset_ms = 1, request_id = 2, record = 3 }

local function void()
  local request = ARGV[void_argv.request_id]
  local hold, ending = read_request(request)
  if ending then return ended(ending.id, ending.cost, mark_text()) end

  local id, cost = '-', '0'
  if hold then
    release(request, hold, 'none')
    if hold.booked_id == '-' then
      id = append(request, rank_released, '0', '0', hold, ARGV[void_argv.record])
    else
      id, cost = hold.booked_id, hold.booked -- a sweep was first
    end
  end
  remember_ending(request, rank_released, cost, id)
  return ended(id, cost, mark_text())
end

offer('void', void, { 'allow-oom' })
