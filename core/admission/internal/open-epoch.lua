--[[ Gives a shard a new epoch after everything was projected into it. Keys are served from `opens_at` on.

  ARGV[2] nonce of the load   ARGV[3] run id as read on this connection   ARGV[4] ms until it opens
  Returns 'opened'; 'kept' when the epoch is already of this run and opens no later than a new one would: otherwise the clock
  was set back and would have to catch up; 'lost' when Redis has forgotten that the load began
  (it lost data or restarted meanwhile), or another load began: opening now would answer 401 to keys that exist.
  Writes epoch, shard (loading). ]]

local function open_epoch()
  read_clock()
  local opens_at = now_ms + tonumber(ARGV[4])
  local epoch = redis.call('HMGET', epoch_name, 'run_id', 'opens_at')
  if epoch[1] == ARGV[3] and tonumber(epoch[2]) <= opens_at then return 'kept' end
  if redis.call('HGET', shard_name, 'loading') ~= ARGV[2] .. ' ' .. ARGV[3] then return 'lost' end
  redis.call('HDEL', shard_name, 'loading')
  redis.call('HSET', epoch_name, 'nonce', ARGV[2], 'run_id', ARGV[3], 'opens_at', integer(opens_at))
  return 'opened'
end

begin()
return open_epoch()
