--[[ The rejections that an organization can look up, after shard.lua: its last 1,000 of the last 7 days. They are outside
  the money path and may be lost. Whatever is listed, the work is bounded. ]]

local listed_max, listed_ms = 1000, 604800000

-- Two for each that is `added`, so that lists shrink.
local function forget_old(name, added)
  for _ = 1, 2 * added do
    local at = tonumber(string.match(redis.call('LINDEX', name, -1), '"at":(%d+)'))
    if at and at > now_ms - listed_ms then break end
    redis.call('RPOP', name)
  end

  local quiet = redis.call('ZRANGE', recently_refused_name, '-inf', integer(now_ms - listed_ms), 'BYSCORE', 'LIMIT', 0, 2 * added)
  for _, organization in ipairs(quiet) do
    redis.call('LTRIM', refused_name(organization), 1, 0)
    redis.call('ZREM', recently_refused_name, organization)
  end
end

-- Each entry is JSON with `at`, Unix milliseconds; the newest comes last. Needs read_clock.
local function list_refused(organization, ...)
  local name = refused_name(organization)
  redis.call('LPUSH', name, ...)
  redis.call('LTRIM', name, 0, listed_max - 1)
  redis.pcall('PEXPIRE', name, listed_ms) -- a manually created Redis user may lack it
  redis.call('ZADD', recently_refused_name, integer(now_ms), organization)
  forget_old(name, select('#', ...))
end
