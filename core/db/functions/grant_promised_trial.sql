-- Defined by migrations/0029-trials-and-mailboxes.sql; change it by a new migration.
--
-- Grants a promised trial to the organization of a paid payment. A withheld trial stays promised. Returns the result of
-- grant_trial, or null if nothing was promised.
CREATE OR REPLACE FUNCTION public.grant_promised_trial(bonus uuid, payment uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  promised promised_trials;
  answer text;
begin
  select t.* into promised from payments p join promised_trials t on t.organization_id = p.organization_id
   where p.id = payment and p.succeeded_at is not null for update of t;
  if not found then
    return null;
  end if;
  answer := grant_trial(bonus, promised.organization_id, promised.address_hash, promised.domain, promised.daily_max);
  if answer in ('granted', 'had_before') then
    delete from promised_trials t where t.organization_id = promised.organization_id;
  end if;
  return answer;
end $function$;
