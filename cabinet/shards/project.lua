--[[ Copies rows of Postgres into the shard, each unless a newer version is there, and moves the cursor with them.

  ARGV[2] cursor, or '' to leave it
  ARGV[3…] for each row: kind, id, version, count of arguments, arguments
    cred, key, org: field, value, …      day: day, posted
  Returns { rows that changed something, nonce, posted_through }
  Writes cred:<hash>, key:<id>, org:<id>, use:<key>, shard (cursor).
  Sets fields and never replaces a hash: `pending` and `held`, which live beside, stay. Revoked keys and credentials
  are rows like any other, so that an older row cannot bring them back. ]]

local function project()
  local name_of = { cred = cred_name, key = key_name, org = org_name }
  local changed, at = 0, 3
  while at <= #ARGV do
    local kind, id, version, count = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
    if kind == 'day' then
      changed = changed + set_key_day(id, ARGV[at + 4], version, ARGV[at + 5])
    else
      changed = changed + set_unless_newer(name_of[kind](id), 'version', version, unpack(ARGV, at + 4, at + 3 + count))
    end
    at = at + 4 + count
  end
  if ARGV[2] ~= '' then redis.call('HSET', shard_name, 'cursor', ARGV[2]) end
  return { changed, mark() }
end

offer('project', project, { 'allow-oom' })
