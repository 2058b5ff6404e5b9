-- Defined by migrations/0065-archived-partitions.sql; change it by a new migration.
--
-- In the order in which they are needed.
CREATE OR REPLACE FUNCTION public.missing_partitions(months_ahead integer)
 RETURNS TABLE(parent text, name text, first_day date, end_day date)
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
  with months as (
    select d::date as first_day, (d + interval '1 month')::date as end_day
      from generate_series(date_trunc('month', now()) - interval '1 month',
                           date_trunc('month', now()) + make_interval(months => months_ahead), '1 month') d
  ), existing as (
    select * from request_partitions()
  ), daily as ( -- months of which days exist, or that are to be days
    select m.* from months m cross join archive a
     where not exists (select from existing e where e.from_at = m.first_day and e.to_at = m.end_day)
       and (a.has_daily_partitions or exists (select from existing e where e.from_at < m.end_day and e.to_at > m.first_day))
  ), days as (
    select d::date as first_day, d::date + 1 as end_day
      from daily m cross join generate_series(m.first_day, m.end_day - 1, interval '1 day') d cross join archive a
     where d >= current_date - 1 and (d < current_date + 34 or not a.has_daily_partitions)
  ), wanted as (
    select 'balance_ledger' as parent, to_char(first_day, '_YYYY_MM') as suffix, * from months
    union all
    select 'requests', to_char(first_day, '_YYYY_MM'), * from months
     where first_day not in (select d.first_day from daily d)
    union all
    select 'requests', to_char(first_day, '_YYYY_MM_DD'), * from days
  )
  select w.parent, w.parent || w.suffix, w.first_day, w.end_day from wanted w
   where to_regclass(w.parent || w.suffix) is null
     and (w.parent = 'balance_ledger' or not exists (select from archive a where w.first_day < a.kept_from))
   order by w.first_day, w.end_day desc, w.parent
$function$;
