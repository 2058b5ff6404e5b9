--[[ Adds up what is pending and held from the entries and holds that are there, and corrects the sums that differ: a
  Redis that was killed while it wrote may have kept half of what a script did, and a hand may have changed anything.

  ARGV[2] most entries to read: where more wait, nothing is done (they are read in one go)   ARGV[3] lease, ms
  ARGV[4] 'every' day of the keys named here, or only 'recent' ones
  then the count of requests, and their ids: holds that must not be missed though `due` may have lost them
  then the count of organizations, and their ids; the same of keys; the same of members: sums that may be of nothing

  Returns { 'counted' or 'too_many', then for each sum that was wrong: organization, key or member, field, what it was, what
            it is now }
  Writes org:<id>, use:<key>, spend:<member>, due: a hold that had no lease there gets one, to be swept. ]]

local function each_argument(at, visit)
  local count = tonumber(ARGV[at])
  for index = at + 1, at + count do visit(ARGV[index]) end
  return at + count + 1
end

-- Of a key's days, as far as zones are from Moscow's day.
local function recent_fields()
  local fields = {}
  for day = today - 1, today + 1 do
    fields[#fields + 1], fields[#fields + 2] = integer(day) .. ':pending', integer(day) .. ':held'
  end
  return fields
end

local function recount()
  read_clock()
  if redis.call('XLEN', charges_name) > tonumber(ARGV[2]) then return { 'too_many' } end

  local sums, ids = {}, {} -- by name of a hash: field → amount; the id in that name
  local function sums_of(name, id)
    ids[name] = id
    sums[name] = sums[name] or {}
    return sums[name]
  end
  local function count(of, field, amount)
    if amount == 0 then return end
    local org, use = sums_of(org_name(of.organization), of.organization), sums_of(use_name(of.key), of.key)
    org[field] = (org[field] or 0) + amount
    local day_field = of.day .. ':' .. field
    use[day_field] = (use[day_field] or 0) + amount
    if of.owners == '-' then return end
    for scope in string.gmatch(of.owners, '[^,]+') do
      local spend = sums_of(spend_name_of(scope, of))
      spend[day_field] = (spend[day_field] or 0) + amount
    end
  end

  for _, entry in ipairs(redis.call('XRANGE', charges_name, '-', '+')) do
    local fields = fields_of(entry)
    if is_ours(fields) then count(fields, 'pending', tonumber(fields.pending)) end
  end

  local holds = {}
  local function count_hold(request)
    if holds[request] then return end
    holds[request] = true
    local hold = read_request(request)
    if not hold then return end
    count(hold, 'held', tonumber(hold.amount))
    redis.call('ZADD', due_name, 'NX', integer(now_ms + tonumber(ARGV[3])), request)
  end
  for _, request in ipairs(redis.call('ZRANGE', due_name, 0, -1)) do count_hold(request) end
  local at = each_argument(5, count_hold)

  local function expect_none(name, id, fields)
    local known = sums_of(name, id)
    for _, field in ipairs(fields) do known[field] = known[field] or 0 end
  end
  local function expect_none_in(name, id)
    local fields = {}
    for _, field in ipairs(redis.call('HKEYS', name)) do
      if string.match(field, ':pending$') or string.match(field, ':held$') then fields[#fields + 1] = field end
    end
    if #fields > 0 then expect_none(name, id, fields) end
  end
  at = each_argument(at, function(id)
    expect_none(org_name(id), id, { 'pending', 'held' })
    expect_none_in(org_name(id), id)
  end)
  local recent = recent_fields()
  at = each_argument(at, function(id)
    expect_none(use_name(id), id, recent)
    if ARGV[4] == 'every' then expect_none_in(use_name(id), id) end
  end)
  each_argument(at, function(id) expect_none_in(spend_name(id), id) end)

  local answer = { 'counted' }
  for name, amounts in pairs(sums) do
    local fields = {}
    for field in pairs(amounts) do fields[#fields + 1] = field end
    for index, known in ipairs(redis.call('HMGET', name, unpack(fields))) do
      local field = fields[index]
      local amount = integer(amounts[field])
      if tonumber(known or 0) ~= amounts[field] then
        redis.call('HSET', name, field, amount)
        for _, item in ipairs({ ids[name], field, known or '0', amount }) do answer[#answer + 1] = item end
      end
    end
  end
  return answer
end

begin()
return recount()
