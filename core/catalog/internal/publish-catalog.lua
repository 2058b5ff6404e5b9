--[[ Makes the catalog equal to that of Postgres, and announces its revision. Outside the shards.

  KEYS[1] mg:routes   KEYS[2] mg:routes:rev, also the channel   KEYS[3] mg:routes:digest   (on a cluster mg:{common}:routes…)
  ARGV[1] revision   ARGV[2] digest of the documents   ARGV[3…] name, document, …: all of them
  Returns 'published', or 'kept' when this revision or a newer one is there.
  Writes all keys. One that is missing is written again: an absent revision is not an empty catalog. ]]

local known = tonumber(redis.call('GET', KEYS[2]))
local is_whole = #ARGV == 2 or redis.call('EXISTS', KEYS[1]) == 1
if known and (known > tonumber(ARGV[1]) or (known == tonumber(ARGV[1]) and is_whole)) then return 'kept' end

local wanted = {}
for at = 3, #ARGV, 2 do
  wanted[ARGV[at]] = true
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not wanted[name] then redis.call('HDEL', KEYS[1], name) end
end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], ARGV[2])
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 'published'
