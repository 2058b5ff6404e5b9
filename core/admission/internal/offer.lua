--[[ Of the gateways' library, after shard.lua: how a file offers its function. ]]

-- `flags`: allow-oom also where Redis is full, no-writes to read-only clients.
local function offer(name, body, flags)
  redis.register_function({
    function_name = library .. '_' .. name,
    callback = function(keys, arguments)
      KEYS, ARGV = keys, arguments -- of the present call: Redis runs one at a time
      begin()
      return body()
    end,
    flags = flags,
  })
end
