-- Defined by migrations/0084-archived-ledger.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.ledger_partitions()
 RETURNS TABLE(name text, from_at timestamp with time zone, to_at timestamp with time zone)
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
  select c.relname::text, b.bounds[1]::timestamptz, b.bounds[2]::timestamptz
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), $p$FROM \('([^']+)'\) TO \('([^']+)'\)$p$) b (bounds)
   where i.inhparent = 'balance_ledger'::regclass and b.bounds is not null
$function$;
