--[[ Takes one count of tokens, which is free and has its own limit. Returns the problem if its key has one.

  ARGV[2] run id as read on this connection   ARGV[3] hash of the key   ARGV[4] list of addresses passed (key.lua)
  Returns what `inspect` does
    or { 'refused', organization, key, rpm, used, reset, tpm, used, reset, 'token_counts', limit, used, wait ms, amounts }.
  Writes use:<key>, only the field `counts`: when its minute began, ms, and the counts since. Twice takes twice. ]]

local counts_per_request = 10 -- of the key's RPM
local counts_window_ms = 60000

local function token_count(who, use)
  local known, began_ms, counts = redis.call('HGET', use.name, 'counts'), now_ms, 0
  if known then began_ms, counts = struct.unpack('<dd', known) end
  -- Also if the clock has run back by more than a little: a minute that began later would last too long.
  if now_ms - began_ms >= counts_window_ms or began_ms - now_ms >= counts_window_ms then began_ms, counts = now_ms, 0 end
  local limit = counts_per_request * who.rpm
  if counts >= limit then return refused(who, use, 'token_counts', limit, counts, began_ms + counts_window_ms - now_ms) end
  redis.call('HSET', use.name, 'counts', struct.pack('<dd', began_ms, counts + 1))
  return usable(who, use)
end

offer('token_count', function() return of_key(token_count) end)
