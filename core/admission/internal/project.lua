--[[ Copies rows of Postgres into the shard, each unless a newer version is there that Postgres has not lost, and moves the cursor with them.

  ARGV[2] cursor, or '' to leave it
  ARGV[3…] for each row: kind, id, version, lost version or '', count of arguments, arguments
    cred, key, org: field, value, …      day: day, posted      window: kind of its owner (copy.lua), window, posted      zone: zone and budgets, as window.lua reads them
  Returns { rows that changed something, nonce, posted_through, then for each row that was refused: its index (0-based)
            and the newer version that is there }
  Writes cred:<hash>, key:<id>, org:<id>, use:<key>, spend:<member>, shard (cursor).
  Sets fields and never replaces a hash: `pending` and `held`, which live in the same hash, stay. Revoked keys and secrets
  are rows like any other, so that an older row cannot bring them back. ]]

local function project()
  local name_of = { cred = cred_name, key = key_name, org = org_name }
  local changed, refused, place, at = 0, {}, 0, 3
  while at <= #ARGV do
    local kind, id, version, lost, count = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
    local set, newer
    if kind == 'day' then
      set, newer = set_spend(use_name(id), ARGV[at + 5], version, lost, ARGV[at + 6])
    elseif kind == 'window' then
      set, newer = set_spend(window_owner(ARGV[at + 5], id), ARGV[at + 6], version, lost, ARGV[at + 7])
    elseif kind == 'zone' then
      set, newer = set_unless_newer(org_name(id), 'zone_version', version, lost, 'zone', ARGV[at + 5], 'budgets', ARGV[at + 6])
    else
      set, newer = set_unless_newer(name_of[kind](id), 'version', version, lost, unpack(ARGV, at + 5, at + 4 + count))
    end
    changed = changed + set
    note_refused(refused, place, newer)
    place, at = place + 1, at + 5 + count
  end
  if ARGV[2] ~= '' then redis.call('HSET', shard_name, 'cursor', ARGV[2]) end
  local nonce, posted_through = mark()
  return { changed, nonce, posted_through, unpack(refused) }
end

begin()
return project()
