#!lua flags=allow-oom
--[[ Gives a hold back that became nothing. An admitted request leaves a record of cost 0.

  ARGV[2] request id   ARGV[3] record
  Returns { stream id or '-', cost that counts, nonce, posted_through }
  Writes hold:<request>, due, org:<id>, win:<id>, charges, done:<request>.
  A request that has ended answers what was stored. An unknown one is only remembered as ended, so that an admit
  still on its way makes no hold. The request stays counted in RPM; its tokens do not in TPM. ]]

local request = ARGV[2]
local done_rank, done_cost, done_id = ending_of(request)
if done_rank then return { done_id, done_cost, mark() } end

local hold = release(request, 0)
if hold then return { book(request, '0', '0', '0', hold, ARGV[3]), '0', mark() } end
remember_ending(request, '0', '0', '-')
return { '-', '0', mark() }
