--[[ Of the gateways' library, after shard.lua: how a file offers its function, and answers several requests. ]]

-- `flags`: allow-oom also where Redis is full, no-writes to read-only clients.
-- What `body` returns, or its error as a reply: of one request among several, which must not concern the others.
local function try(body, ...)
  local is_done, answer = pcall(body, ...)
  if is_done then return answer end
  return type(answer) == 'table' and answer or redis.error_reply('ERR ' .. tostring(answer))
end

-- The reply to several requests: an array, or to one its own reply, which costs both ends less if it is a text.
local function reply_of(answers) return #answers == 1 and answers[1] or answers end

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
