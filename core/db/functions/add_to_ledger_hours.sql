-- Defined by migrations/0017-people.sql; change it by a new migration.
--
-- Every writer of the ledger holds the account's lock, so two never lock hours in different orders.
CREATE OR REPLACE FUNCTION public.add_to_ledger_hours()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into ledger_hourly as h (organization_id, hour, charged, first_seq, last_seq)
  select organization_id, date_trunc('hour', ts, 'UTC'),
         coalesce(-sum(amount) filter (where kind in ('charge', 'adjust')), 0), min(seq), max(seq)
    from added group by 1, 2 order by 1, 2
  on conflict (organization_id, hour) do update set
    charged = h.charged + excluded.charged,
    first_seq = least(h.first_seq, excluded.first_seq), last_seq = greatest(h.last_seq, excluded.last_seq);
  return null;
end $function$;
