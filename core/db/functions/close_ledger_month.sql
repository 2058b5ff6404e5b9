-- Defined by migrations/0084-archived-ledger.sql; change it by a new migration.
--
-- Closes the oldest month that has charges, which must be of this name and have ended 13 months ago. Returns ready if it may be
-- compared. Otherwise: stray_entries of the default partition, requests that have not left Postgres, or audits that have not added
-- its entries. Waits 200 ms at most for transactions that write to it.
CREATE OR REPLACE FUNCTION public.close_ledger_month(partition text)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
declare
  p record;
  is_unchecked boolean;
begin
  select * into p from ledger_partitions() l
   where not exists (select from archived_ledger_months m where m.name = l.name)
   order by l.from_at limit 1;
  if p.name is distinct from partition or p.to_at > now() - interval '13 months' then
    raise exception 'partition % is not the oldest one, or has entries of the last 13 months', partition
      using errcode = 'invalid_parameter_value';
  end if;
  if exists (select from balance_ledger_default where ts < p.to_at) then
    return 'stray_entries';
  end if;
  if not exists (select from archive where kept_from >= p.to_at) or exists (select from requests_default where ts < p.to_at) then
    return 'requests';
  end if;
  if not exists (select from pg_trigger where tgrelid = to_regclass(partition) and tgname = 'refuse_archived') then
    execute format('create trigger refuse_archived before insert on %I for each row when (new.kind in (''charge'', ''adjust''))
                    execute function refuse_archived_charge()', partition);
  end if;
  execute format('select exists (select from unchecked_ledger_rows u
                                  cross join unnest(u.organization_ids, u.first_seqs, u.last_seqs) s (organization_id, first_seq, last_seq)
                                  cross join lateral (select from %I where organization_id = s.organization_id
                                                         and seq between s.first_seq and s.last_seq limit 1) l)', partition)
    into is_unchecked;
  return case when is_unchecked then 'audits' else 'ready' end;
end $function$;
