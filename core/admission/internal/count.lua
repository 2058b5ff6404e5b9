--[[ Counts a request that was read and then rejected: one in RPM, no tokens. Returns the problem if its key
  has one.

  ARGV[2] run id as read on this connection   ARGV[3] hash of the key   ARGV[4] list of addresses passed (key.lua)
  Returns what `inspect` does, the window as it is with this request
    or { 'refused', organization, key, rpm, used, reset, tpm, used, reset, 'rpm', limit, used, wait ms, amounts }.
  Writes use:<key>. Not idempotent: sent twice, it counts twice. ]]

local function count(who, use)
  local excess = use.requests + 1 - who.rpm
  if excess > 0 then return refused(who, use, 'rpm', who.rpm, use.requests, wait_for(use, 1, excess)) end
  count_in(use, 0)
  write_use(use, 0)
  return usable(who, use)
end

offer('count', function() return of_key(count) end)
