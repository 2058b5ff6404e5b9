-- Defined by migrations/0055-checked-ledger-days.sql; change it by a new migration.
--
-- Ledger rows never change; this notes those that a superuser changes.
CREATE OR REPLACE FUNCTION public.doubt_ledger_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  l balance_ledger;
begin
  foreach l in array array[old, new] loop
    continue when l is not distinct from null::balance_ledger;
    insert into unchecked_things (subject, thing) values
      ('account', jsonb_build_object('organization_id', l.organization_id)),
      ('row', jsonb_build_object('organization_id', l.organization_id, 'seq', l.seq)),
      ('row', jsonb_build_object('organization_id', l.organization_id, 'seq', l.seq + 1)),
      ('ref', jsonb_build_object('id', l.ref_id)),
      ('hour', jsonb_build_object('organization_id', l.organization_id, 'hour', date_trunc('hour', l.ts, 'UTC')));
    insert into unchecked_things (subject, thing)
    select 'day', jsonb_build_object('day', (l.ts at time zone 'UTC' + interval '3 hours')::date, 'kind', l.kind,
                                     'shard', o.shard)
      from organizations o where o.id = l.organization_id;
    if l.api_key_id is not null then
      insert into unchecked_things (subject, thing)
      values ('key_day', jsonb_build_object('key_id', l.api_key_id, 'day', l.day));
    end if;
  end loop;
  return null;
end $function$;
