-- Defined by migrations/0071-ended-memberships.sql; change it by a new migration.
--
-- Charges of a key that was revoked in the last day may not be posted yet.
CREATE OR REPLACE FUNCTION public.copy_member_budget()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update api_keys k
     set member_monthly_budget_nano = case tg_op when 'UPDATE' then new.monthly_budget_nano end,
         monthly_budget_nano = case tg_op when 'UPDATE' then k.monthly_budget_nano
                                          else least(k.monthly_budget_nano, old.monthly_budget_nano) end
   where k.organization_id = old.organization_id and k.created_by = old.user_id
     and (k.revoked_at is null or k.revoked_at > now() - interval '1 day');
  return null;
end $function$;
