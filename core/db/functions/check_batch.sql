-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.check_batch(entries jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  bad text;
begin
  select e.request_id || ': ' || case
           when e.cost < 0 then 'a negative cost'
           when e.rank > 2 then 'no such kind of charge'
           when a.organization_id is null then 'no such organization'
           when k.id is null then 'no such key in this organization'
           else 'not a UUIDv7 or a field is missing' end
    into bad
    from batch_entries(entries) e
    left join org_account a on a.organization_id = e.organization_id
    left join api_keys k on k.id = e.key_id and k.organization_id = e.organization_id
   where (e.cost >= 0 and k.id = e.key_id and substr(e.request_id::text, 15, 1) = '7'
          and a.organization_id = e.organization_id and e.rank between 0 and 2 and e.day is not null) is not true
   limit 1;
  if bad is not null then
    raise exception 'charge %', bad using errcode = 'invalid_parameter_value';
  end if;
end $function$;
