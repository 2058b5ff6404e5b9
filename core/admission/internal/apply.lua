--[[ Takes entries out of the stream that Postgres has committed, and what they added out of `pending`.

  ARGV[2] count of entries, then for each: stream id, request, rank (each empty where it is none); the
    head of the stream, in order
  then the count of balances, then for each: organization, posted, version
  then the count of key-days, then for each: key, day, posted, version
  then the count of windows, then for each: kind and id of its owner (copy.lua), window, posted, version
  then the count of requests that were swept and are posted as their gateway ended them, then for each: request, rank, cost
  Returns { nonce, posted_through, then for each balance, key-day and window that was refused: its index (0-based, in that order)
            and the newer version that is there }
  Writes charges, org:<id>, use:<key>, spend:<member>, epoch (posted_through), request:<id>, due.
  Only what this very call removes is taken back, by the amount stored in the entry, in one sum for each field:
  nothing drifts, whoever runs this and however often. An id that names another entry by now is left alone: a Redis that
  lost its last ones gives their ids again. And only that moves posted_through: an id that is not here was counted by the call that removed it,
  or is of a generation that this Redis has lost, and may lie ahead of what is charged here for long. Posted amounts are set
  unless a newer version is there. ]]

local uuid = '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$'
local function readable(text, pattern) return string.match(text or '', pattern) or '' end

-- Lua passes no more than some thousand arguments on.
local deleted_at_once = 1000

-- Those of the entries from `first` to `last` that the stream has, by id: no more than as many as are asked for.
local function entries_between(first, last, count)
  local found = {}
  for _, entry in ipairs(redis.call('XRANGE', charges_name, first, last, 'COUNT', count)) do found[entry[1]] = entry end
  return found
end

-- Whether this is the entry that was posted, and not another one under its id.
local function is_same(fields, request, rank)
  return readable(fields.request, uuid) == request and readable(fields.rank, rank_pattern) == rank
end

-- Removes entries, each `{ id, request, rank }`, and takes back what they added. Answers the ids of those that were there.
local function remove(booked)
  if #booked == 0 then return {} end
  local found = entries_between(booked[1][1], booked[#booked][1], #booked)
  local removed, is_removed, sums = {}, {}, {}
  for _, named in ipairs(booked) do
    local id, request, rank = unpack(named)
    local entry = found[id] or redis.call('XRANGE', charges_name, id, id)[1]
    local fields = entry and not is_removed[id] and fields_of(entry)
    if fields and is_same(fields, request, rank) then
      removed[#removed + 1], is_removed[id] = id, true
      if is_ours(fields) then add_later(sums, 'pending', minus(fields.pending), fields) end
    end
  end
  for first = 1, #removed, deleted_at_once do
    redis.call('XDEL', charges_name, unpack(removed, first, math.min(first + deleted_at_once - 1, #removed)))
  end
  write_sums(sums) -- last: after an error, what was not taken back only makes less available
  return removed
end

local function is_later(id, than)
  local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
  local than_ms, than_sequence = string.match(than, '^(%d+)-(%d+)$')
  ms, than_ms = tonumber(ms), tonumber(than_ms)
  return ms > than_ms or (ms == than_ms and tonumber(sequence) > tonumber(than_sequence))
end

-- Gives back what a sweep left on hold of a request that has ended: a server took its end with it when it failed, and its
-- gateway, which knows that it is posted, sends it no more.
local function end_swept(request, rank, cost)
  local hold = read_request(request)
  if not hold or hold.booked_id == '-' then return end
  release(request, hold, nil)
  remember_ending(request, rank, cost, hold.booked_id)
end

local function apply()
  local at = 1
  local function next_argument()
    at = at + 1
    return ARGV[at]
  end

  local nonce, posted_through = mark()
  local booked = {}
  for place = 1, tonumber(next_argument()) do booked[place] = { next_argument(), next_argument(), next_argument() } end
  for _, id in ipairs(remove(booked)) do
    if is_later(id, posted_through) then posted_through = id end
  end
  redis.call('HSET', epoch_name, 'posted_through', posted_through)

  local refused, balances = {}, tonumber(next_argument())
  for place = 0, balances - 1 do
    local organization, posted, version = next_argument(), next_argument(), next_argument()
    local _, newer = set_unless_newer(org_name(organization), 'version', version, '', 'posted', posted)
    note_refused(refused, place, newer)
  end
  local days = tonumber(next_argument())
  for place = balances, balances + days - 1 do
    local key, day, posted, version = next_argument(), next_argument(), next_argument(), next_argument()
    local _, newer = set_spend(use_name(key), day, version, '', posted)
    note_refused(refused, place, newer)
  end
  for place = balances + days, balances + days + tonumber(next_argument()) - 1 do
    local name = window_owner(next_argument(), next_argument())
    local window, posted, version = next_argument(), next_argument(), next_argument()
    local _, newer = set_spend(name, window, version, '', posted)
    note_refused(refused, place, newer)
  end
  for _ = 1, tonumber(next_argument()) do end_swept(next_argument(), next_argument(), next_argument()) end
  return { nonce, posted_through, unpack(refused) }
end

begin()
return apply()
