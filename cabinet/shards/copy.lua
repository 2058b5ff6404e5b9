--[[ What `project` and `apply` share, after shard.lua: copies of Postgres, which only go forward. ]]

local function has_all(name, ...)
  local given, fields = { ... }, {}
  for at = 1, #given, 2 do fields[#fields + 1] = given[at] end
  for index, value in ipairs(redis.call('HMGET', name, unpack(fields))) do
    if value ~= given[2 * index] then return false end
  end
  return true
end

-- Sets fields of a hash unless it has a newer version. Answers how many hashes changed: none where all of it is there.
-- One version may come with different fields: default limits are no part of it, and a hand in Redis leaves it as it was.
local function set_unless_newer(name, version_field, version, ...)
  local known = redis.call('HGET', name, version_field)
  if known and tonumber(known) > tonumber(version) then return 0 end
  if known == version and has_all(name, ...) then return 0 end
  redis.call('HSET', name, version_field, version, ...)
  return 1
end

local function set_key_day(key, day, version, posted)
  return set_unless_newer(use_name(key), day .. ':version', version, day .. ':posted', posted)
end
