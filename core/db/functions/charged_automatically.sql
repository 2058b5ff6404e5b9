-- Defined by migrations/0100-ended-cards.sql; change it by a new migration.
--
-- What the automatic payments of an organization add up to, for its maximum of a day: those of today and, once its time zone
-- has changed, those of the last 24 hours in another time zone. So a change never renews the maximum.
CREATE OR REPLACE FUNCTION public.charged_automatically(organization uuid)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(sum(p.amount), 0)::bigint
    from organizations o
    join payments p on p.organization_id = o.id and p.automatic_day >= (clock_timestamp() at time zone o.time_zone)::date - 2
   where o.id = organization and p.status <> 'canceled'
     and (p.automatic_day >= (clock_timestamp() at time zone o.time_zone)::date
          or (p.automatic_time_zone is distinct from o.time_zone and p.created_at > clock_timestamp() - interval '24 hours'))
$function$;
