--[[ Of the gateways' library, after ending.lua: what the ends of several requests change together, each sum once. ]]

-- The minute of a key, and its bucket of a second, each read once for all requests in `uses`.
local function used_in(uses, key, second)
  local use = uses[key]
  local bucket = use and use.buckets[second]
  if bucket then return use, bucket end

  bucket = { second = tonumber(second), requests = 0, tokens = 0, is_changed = false }
  local known
  if use then
    known = redis.call('HGET', use.name, bucket_of(bucket.second))
  else
    use = { name = use_name(key), buckets = {}, last = 0, requests = 0, tokens = 0 }
    local both = redis.call('HMGET', use.name, 'sum', bucket_of(bucket.second))
    if both[1] then use.last, use.requests, use.tokens = struct.unpack(bucket_format, both[1]) end
    known, uses[key] = both[2], use
  end
  bucket.requests, bucket.tokens = counted_in(known, bucket.second)
  use.buckets[second] = bucket
  return use, bucket
end

local function correct_later(uses, hold, tokens)
  local use, bucket = used_in(uses, hold.key, hold.second)
  local uncalled, difference = correction(hold, tokens, use.last, bucket.requests, bucket.tokens)
  if not uncalled then return end
  use.requests, use.tokens = use.requests - uncalled, use.tokens + difference
  bucket.requests, bucket.tokens, bucket.is_changed = bucket.requests - uncalled, bucket.tokens + difference, true
end

local function begin_endings() return { released = {}, uses = {}, sums = {} } end

-- As `release`, once `write_endings` is called.
local function release_later(endings, request, hold, tokens)
  if tokens then correct_later(endings.uses, hold, tokens) end
  add_later(endings.sums, 'held', minus(hold.amount), hold)
  endings.released[#endings.released + 1] = request
end

local function write_endings(endings)
  if #endings.released > 0 then redis.call('ZREM', due_name, unpack(endings.released)) end
  for _, use in pairs(endings.uses) do
    for _, bucket in pairs(use.buckets) do
      if bucket.is_changed then
        write_counts(use.name, use.last, use.requests, use.tokens, bucket.second, bucket.requests, bucket.tokens)
      end
    end
  end
  write_sums(endings.sums)
end
