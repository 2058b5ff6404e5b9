--[[ Shared by `project` and `apply`, after shard.lua: copies of Postgres, which only move forward unless Postgres went back. ]]

local function has_all(name, ...)
  local given, fields = { ... }, {}
  for at = 1, #given, 2 do fields[#fields + 1] = given[at] end
  for index, value in ipairs(redis.call('HMGET', name, unpack(fields))) do
    if value ~= given[2 * index] then return false end
  end
  return true
end

-- Sets fields of a hash unless it has a newer version than this, except `lost`, a version that Postgres has
-- lost. Returns how many hashes changed (0 if all of it was there already) and the newer version that
-- prevented the change. One version may come with different fields: default limits are not part of it, and
-- neither are manual changes in Redis.
local function set_unless_newer(name, version_field, version, lost, ...)
  local known = redis.call('HGET', name, version_field)
  if known and known ~= lost and tonumber(known) > tonumber(version) then return 0, known end
  if known == version and has_all(name, ...) then return 0 end
  redis.call('HSET', name, version_field, version, ...)
  return 1
end

-- Of a day or a window in the hash of its owner.
local function set_spend(name, window, version, lost, posted)
  return set_unless_newer(name, window .. ':version', version, lost, window .. ':posted', posted)
end

-- The hash with windows of a key (`kind` k), an organization (o) or a member (m).
local function window_owner(kind, id)
  if kind == 'k' then return use_name(id) end
  return kind == 'o' and org_name(id) or spend_name(id)
end

-- Adds to a script's reply that the row at this index was rejected because of a newer version.
local function note_refused(refused, place, newer)
  if not newer then return end
  refused[#refused + 1] = place
  refused[#refused + 1] = newer
end
