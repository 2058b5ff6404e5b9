--[[ What `project` and `apply` share, after shard.lua: copies of Postgres, which only go forward. ]]

-- Sets fields of a hash unless it has this version or a newer one. Answers how many hashes changed.
local function set_if_newer(name, version_field, version, ...)
  local known = redis.call('HGET', name, version_field)
  if known and tonumber(known) >= tonumber(version) then return 0 end
  redis.call('HSET', name, version_field, version, ...)
  return 1
end

local function set_key_day_if_newer(key, day, version, posted)
  local use = use_name(key)
  if not keeps_day(use, tonumber(day)) then return 0 end
  return set_if_newer(use, day .. ':version', version, day .. ':posted', posted)
end

