#!lua flags=no-writes
--[[ Says what a key may do and has used. Writes nothing and uses nothing up.

  ARGV[2] run id as read on this connection   ARGV[3] hash of the key
  Returns { 'refused', reason, blocked by? }
    or { 'usable', organization, key, models, expires_at, read_balance, rpm, remaining, reset, tpm, remaining, reset,
         daily budget, day posted, day pending, day held, day ends at, posted, pending, held } ]]

local refusal, who = authenticate(ARGV[3], ARGV[2])
if refusal then return { 'refused', unpack(refusal) } end

local win = win_name(who.key)
local answer = { 'usable', who.organization, who.key, who.models, who.expires_at, who.read_balance }
append_to(answer, limits_of(who, window_of(win, false)))
append_to(answer, who.daily_budget, day_of(win))
append_to(answer, end_of_day_ms(today), who.posted, who.pending, who.held)
return answer
