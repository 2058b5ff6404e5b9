-- Defined by migrations/0029-trials-and-mailboxes.sql; change it by a new migration.
--
-- The trial of 30 rubles: once per organization and per mailbox, three a day per domain, and at most daily_max a day in
-- total. domain is null for large mail services; daily_max is null if a day has no limit. Returns granted, had_before,
-- withheld_for_domain or withheld_for_daily_total.
CREATE OR REPLACE FUNCTION public.grant_trial(bonus uuid, organization uuid, hash bytea, domain text, daily_max bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  trial constant bigint := 30000000000;
  per_domain_max constant integer := 3;
  today constant date := (clock_timestamp() at time zone 'UTC')::date;
  spent trial_days;
begin
  if hash is null then
    raise exception 'a trial needs a mailbox' using errcode = 'null_value_not_allowed';
  end if;
  insert into trial_days (day) values (today) on conflict do nothing;
  select * into strict spent from trial_days d where d.day = today for update;
  if exists (select from bonuses b
              where b.kind = 'trial' and (b.organization_id = organization or b.address_hash = hash)) then
    return 'had_before';
  end if;
  if exists (select from trial_domains t
              where t.day = today and t.domain = grant_trial.domain and t.granted_count >= per_domain_max) then
    update trial_days d set withheld_for_domain = d.withheld_for_domain + 1 where d.day = today;
    return 'withheld_for_domain';
  end if;
  if spent.granted + trial > daily_max then
    update trial_days d set withheld_for_daily_total = d.withheld_for_daily_total + 1 where d.day = today;
    return 'withheld_for_daily_total';
  end if;
  insert into bonuses (id, organization_id, kind, amount, address_hash)
  values (bonus, organization, 'trial', trial, hash) on conflict do nothing;
  if not found then
    return 'had_before';
  end if;
  update trial_days d set granted = d.granted + trial where d.day = today;
  if domain is not null then
    insert into trial_domains as t (day, domain, granted_count) values (today, grant_trial.domain, 1)
    on conflict on constraint trial_domains_pkey do update set granted_count = t.granted_count + 1;
  end if;
  perform post_credit(organization, 'trial', bonus, trial, now());
  return 'granted';
end $function$;

CREATE OR REPLACE FUNCTION public.grant_trial(bonus uuid, organization uuid, hash bytea)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select grant_trial($1, $2, $3, null, null) = 'granted'
$function$;
