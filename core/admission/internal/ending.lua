--[[ What `settle`, `void`, `sweep`, `apply` and `recount` share, after shard.lua and minute.lua: the end of a request
  and its entry. ]]

local remembered_seconds = '1800'

-- The fields of a stream entry by name.
local function fields_of(entry)
  local fields = {}
  for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
  fields.owners = string.match(fields.owners or '', '^[%w,-]+$') or '-'
  return fields
end

-- A script other than ours added nothing to any sum.
local function is_ours(fields)
  return string.match(fields.pending or '', '^%-?%d+$') and #fields.pending < 19
    and fields.organization and fields.key and tonumber(fields.day)
end

-- The reply of settle and void; `marked`: the mark as text.
local function ended(id, cost, marked) return id .. ' ' .. cost .. ' ' .. marked end

local function mark_text()
  local nonce, posted_through = mark()
  return nonce .. ' ' .. posted_through
end

-- Replaces its hold. It only saves work, so it may expire.
local function remember_ending(request, rank, cost, id)
  redis.call('SET', request_name(request), 'ended ' .. rank .. ' ' .. cost .. ' ' .. id, 'EX', remembered_seconds)
end

-- By how many requests and tokens the bucket of a hold's second, and the sum whose last second is `last`, are to be
-- corrected to what was really used, or nothing: `tokens`, or 'none' where no provider was called, so that the request
-- counts in RPM neither. Never below zero: after a loss of data a bucket may not contain what its hold had added.
local function correction(hold, tokens, last, bucket_requests, bucket_tokens)
  if bucket_requests == 0 then return end
  local uncalled = tokens == 'none' and 1 or 0
  local difference = math.max((tonumber(tokens) or 0) - tonumber(hold.tokens), -bucket_tokens)
  if uncalled == 0 and difference == 0 then return end
  if last - tonumber(hold.second) >= window_seconds then return end
  return uncalled, difference
end

local function correct_use(hold, tokens)
  local name, second = use_name(hold.key), tonumber(hold.second)
  local known = redis.call('HMGET', name, 'sum', bucket_of(second))
  local bucket_requests, bucket_tokens = counted_in(known[2], second)
  if bucket_requests == 0 then return end
  local last, requests, all_tokens = struct.unpack(bucket_format, known[1])
  local uncalled, difference = correction(hold, tokens, last, bucket_requests, bucket_tokens)
  if not uncalled then return end
  write_counts(name, last, requests - uncalled, all_tokens + difference, second, bucket_requests - uncalled, bucket_tokens + difference)
end

-- Gives a hold back; `tokens` as `correction` takes them, nil if unknown. What became of the request is then to be remembered.
local function release(request, hold, tokens)
  redis.call('ZREM', due_name, request)
  if tokens then correct_use(hold, tokens) end
  add('held', minus(hold.amount), hold)
end

-- Appends an entry for Postgres. Answers the stream id.
local function append_entry(request, rank, cost, pending, of, record)
  if of.owners == '-' then
    return redis.call('XADD', charges_name, '*', 'request', request, 'rank', rank, 'organization', of.organization, 'key', of.key,
      'day', of.day, 'cost', cost, 'pending', pending, 'record', record)
  end
  return redis.call('XADD', charges_name, '*', 'request', request, 'rank', rank, 'organization', of.organization, 'key', of.key,
    'day', of.day, 'cost', cost, 'pending', pending, 'record', record, 'owners', of.owners)
end

-- The same, and adds `pending` to what waits.
local function append(request, rank, cost, pending, of, record)
  add('pending', pending, of)
  return append_entry(request, rank, cost, pending, of, record)
end
