-- Defined by migrations/0029-trials-and-mailboxes.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.trials_of_today()
 RETURNS TABLE(granted bigint, withheld_for_domain integer, withheld_for_daily_total integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select coalesce(max(d.granted), 0)::bigint, coalesce(max(d.withheld_for_domain), 0),
         coalesce(max(d.withheld_for_daily_total), 0)
    from trial_days d where d.day = (clock_timestamp() at time zone 'UTC')::date
$function$;
