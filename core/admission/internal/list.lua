--[[ Lists rejections of an organization that a gateway decided without `admit`.

  ARGV[2] organization   ARGV[3…] for each, oldest first: how long ago, ms; its JSON without `at`
  Writes refused:<organization> and refused:recent, no more.
  Sent twice, it lists twice. Without allow-oom: a full Redis keeps its memory for money. ]]

local list_argv = { clock_offset_ms = 1, organization = 2 }
local first_listed, listed_size = 3, 2

local function list()
  read_clock()
  local entries = {}
  for at = first_listed, #ARGV, listed_size do
    local ago_ms, json = unpack(ARGV, at, at + listed_size - 1)
    entries[#entries + 1] = '{"at":' .. integer(now_ms - tonumber(ago_ms)) .. ',' .. string.sub(json, 2)
  end
  list_refused(ARGV[list_argv.organization], unpack(entries))
  return 'listed'
end

offer('list', list)
