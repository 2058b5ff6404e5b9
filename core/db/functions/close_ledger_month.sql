-- Defined by migrations/0084-archived-ledger.sql; change it by a new migration.
--
-- Closes the oldest month that has charges, which must be of this name and have ended 13 months ago. Returns whether it may be
-- compared: its requests left Postgres.
CREATE OR REPLACE FUNCTION public.close_ledger_month(partition text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
declare
  p record;
begin
  select * into p from ledger_partitions() l
   where not exists (select from archived_ledger_months m where m.name = l.name)
   order by l.from_at limit 1;
  if p.name is distinct from partition or p.to_at > now() - interval '13 months' then
    raise exception 'partition % is not the oldest one, or has entries of the last 13 months', partition
      using errcode = 'invalid_parameter_value';
  end if;
  if not exists (select from archive where kept_from >= p.to_at)
     or exists (select from requests_default where ts < p.to_at)
     or exists (select from balance_ledger_default where ts < p.to_at) then
    return false;
  end if;
  if not exists (select from pg_trigger where tgrelid = to_regclass(partition) and tgname = 'refuse_archived') then
    execute format('create trigger refuse_archived before insert on %I for each row when (new.kind in (''charge'', ''adjust''))
                    execute function refuse_archived_charge()', partition);
  end if;
  return true;
end $function$;
