--[[ Returns what a key may do and has used. Writes nothing and uses nothing up.

  ARGV[2] run id as read on this connection   ARGV[3] hash of the key   ARGV[4] list of addresses passed (key.lua)
  Returns { 'refused', '', reason } of a key that is not known
    or { 'refused', organization, key, rpm, used, reset, tpm, used, reset, reason, blocked by?, amounts }
    or { 'usable', organization, key, models, expires_at, read_balance, keeps_hours, rpm, used, reset, tpm, used, reset, amounts,
      ms until there is room for one more request }
  amounts: daily budget, day posted, day pending, day held, day ends at, posted, pending, held, count of other budgets, and
    for each: scope, period, limit, posted, pending, held, ends at or '' ]]

offer('inspect', function() return of_key(usable) end, { 'no-writes' })
