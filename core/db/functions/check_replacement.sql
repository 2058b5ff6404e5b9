-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- Whether an entry of a higher rank may replace the posted one of its request: true, or SQLSTATE 22023.
--
-- settled (1) replaces released (0). If it costs less than the part delivered until then, it must be the cost of its tokens.
-- corrected (2) takes back a response that no client received: cost 0, of the request that was settled, and never after
-- content of a stream was delivered. Nothing is lowered a week after it was posted.
CREATE OR REPLACE FUNCTION public.check_replacement(booked requests, entry_rank smallint, entry_key uuid, entry_day date, entry_cost bigint, entry_record jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  lowered_within constant interval := '7 days';
  fault text;
begin
  fault := case
    when (entry_key, entry_day) is distinct from (booked.api_key_id, booked.day)
      then 'it was booked for another key or day'
    when entry_rank = 2 and (entry_cost <> 0 or entry_record ->> 'outcome' is distinct from 'unsettled')
      then 'a correction takes back all of an answer that nobody got, and says so'
    when entry_rank = 2 and booked.record -> 'stream' = 'true' and coalesce(booked.record ->> 'firstContentMs', '') <> ''
      then 'content of its stream was delivered'
    when entry_rank = 2 and booked.rank = 1
         and (entry_record ->> 'modelRan', entry_record ->> 'priceId', entry_record -> 'tokens')
             is distinct from (booked.record ->> 'modelRan', booked.record ->> 'priceId', booked.record -> 'tokens')
      then 'a correction does not say what was settled'
    when entry_cost < booked.cost and booked.updated_at < clock_timestamp() - lowered_within
      then 'it was booked more than a week ago'
    when entry_rank = 1 and entry_cost < booked.cost and entry_cost is distinct from cost_of_record(entry_record)
      then 'it costs less than was delivered, and not what its tokens cost'
  end;
  if fault is not null then
    raise exception 'charge % is not replaced: %', booked.id, fault using errcode = 'invalid_parameter_value';
  end if;
  return true;
end $function$;
