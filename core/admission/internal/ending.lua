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

-- The reply of settle and void.
local function ended(id, cost)
  local nonce, posted_through = mark()
  return id .. ' ' .. cost .. ' ' .. nonce .. ' ' .. posted_through
end

-- Replaces its hold. It only saves work, so it may expire.
local function remember_ending(request, rank, cost, id)
  redis.call('SET', request_name(request), 'ended ' .. rank .. ' ' .. cost .. ' ' .. id, 'EX', remembered_seconds)
end

-- Corrects the bucket of a hold's second to what was really used, while that bucket is in the window: `tokens`, or 'none'
-- where no provider was called, so that the request counts in RPM neither.
-- Never below zero: after a loss of data a bucket may not contain what its hold had added.
local function correct_use(hold, tokens)
  local name, second = use_name(hold.key), tonumber(hold.second)
  local known = redis.call('HMGET', name, 'sum', bucket_of(second))
  local bucket_requests, bucket_tokens = counted_in(known[2], second)
  if bucket_requests == 0 then return end
  local uncalled = tokens == 'none' and 1 or 0
  local difference = math.max((tonumber(tokens) or 0) - tonumber(hold.tokens), -bucket_tokens)
  if uncalled == 0 and difference == 0 then return end
  local last, requests, all_tokens = struct.unpack(bucket_format, known[1])
  if last - second >= window_seconds then return end
  write_counts(name, { last, requests - uncalled, all_tokens + difference }, second,
    { second, bucket_requests - uncalled, bucket_tokens + difference })
end

-- Gives a hold back; `tokens` as correct_use takes them, nil if unknown. What became of the request is then to be remembered.
local function release(request, hold, tokens)
  redis.call('ZREM', due_name, request)
  if tokens then correct_use(hold, tokens) end
  add('held', minus(hold.amount), hold)
end

-- Appends an entry for Postgres and adds `pending` to what waits. Answers the stream id.
local function append(request, rank, cost, pending, of, record)
  add('pending', pending, of)
  local fields = { 'request', request, 'rank', rank, 'organization', of.organization, 'key', of.key, 'day', of.day, 'cost', cost,
    'pending', pending, 'record', record }
  if of.owners ~= '-' then
    fields[#fields + 1] = 'owners'
    fields[#fields + 1] = of.owners
  end
  return redis.call('XADD', charges_name, '*', unpack(fields))
end

-- The same, and remembers the ending.
local function book(request, rank, cost, pending, of, record)
  local id = append(request, rank, cost, pending, of, record)
  remember_ending(request, rank, cost, id)
  return id
end
