-- Defined by migrations/0047-operations.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.add_to_ledger_days()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into ledger_daily as d (day, kind, shard, amount)
  select (a.ts at time zone 'UTC' + interval '3 hours')::date, a.kind, o.shard, sum(a.amount)
    from added a join organizations o on o.id = a.organization_id
   group by 1, 2, 3 order by 1, 2, 3
  on conflict (day, kind, shard) do update set amount = d.amount + excluded.amount;
  return null;
end $function$;
