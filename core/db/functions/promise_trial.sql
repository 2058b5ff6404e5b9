-- Defined by migrations/0029-trials-and-mailboxes.sql; change it by a new migration.
--
-- Notes a trial that is granted with the first top-up. Returns whether this call noted it.
CREATE OR REPLACE FUNCTION public.promise_trial(organization uuid, hash bytea, domain text, daily_max bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if exists (select from bonuses b
              where b.kind = 'trial' and (b.organization_id = organization or b.address_hash = hash)) then
    return false;
  end if;
  insert into promised_trials (organization_id, address_hash, domain, daily_max)
  values (organization, hash, promise_trial.domain, promise_trial.daily_max) on conflict do nothing;
  return found;
end $function$;
