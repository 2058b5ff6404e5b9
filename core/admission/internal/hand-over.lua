--[[ Lets a shard serve that has come from a server which still runs: all that server had is here, so its epoch goes on,
  under the run id of the present one.

  ARGV[2] run id as read on this connection   ARGV[3] run id of the server that has handed it over; missing if none has
  Returns 'handed_over'; 'current' when the epoch is of this run already; 'other' when it is of another one, or missing:
  then it must be loaded.
  Writes epoch (run_id). ]]

local function hand_over()
  local run_id = redis.call('HGET', epoch_name, 'run_id')
  if run_id == ARGV[2] then return 'current' end
  if not run_id or run_id ~= ARGV[3] then return 'other' end
  redis.call('HSET', epoch_name, 'run_id', ARGV[2])
  return 'handed_over'
end

begin()
return hand_over()
