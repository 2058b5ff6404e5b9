--[[ Shared by `key` and `ending`, after shard.lua: how a key's one-minute window is written.

  In use:<key> there is a ring of 61 buckets of one second, fields 0…60, and the sum of those that are in the window,
  field `sum`. Sum and buckets are written alike: second, requests, tokens; the sum's second is that of the last request.
  A bucket is not removed when it leaves the window: its second says that it has left. So the hash of a key in use has
  few, short fields, and none comes or goes: Redis finds a field by reading all before it. ]]

local window_seconds = 61
local bucket_format = '<I4I4d'

-- The field of a second's bucket.
local function bucket_of(second) return string.format('%d', second % window_seconds) end

-- Requests and tokens that `bucket` counts in `second`; none if it is of another second or was never written.
local function counted_in(bucket, second)
  if not bucket then return 0, 0 end
  local known, requests, tokens = struct.unpack(bucket_format, bucket)
  if known ~= second then return 0, 0 end
  return requests, tokens
end

-- `...`: other fields and their values.
local function write_counts(use, last, requests, tokens, second, bucket_requests, bucket_tokens, ...)
  redis.call('HSET', use, 'sum', struct.pack(bucket_format, last, requests, tokens),
    bucket_of(second), struct.pack(bucket_format, second, bucket_requests, bucket_tokens), ...)
end
