-- Defined by migrations/0057-member-budgets.sql; change it by a new migration.
--
-- The lock makes a new key and a change of the budget wait for each other.
CREATE OR REPLACE FUNCTION public.note_member_budget()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  select m.monthly_budget_nano into new.member_monthly_budget_nano from memberships m
   where m.organization_id = new.organization_id and m.user_id = new.created_by for share;
  return new;
end $function$;
