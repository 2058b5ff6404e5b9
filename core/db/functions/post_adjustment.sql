-- Defined by migrations/0071-ended-memberships.sql; change it by a new migration.
--
-- The only credit that the cabinet's process may post itself.
CREATE OR REPLACE FUNCTION public.post_adjustment(organization uuid, ref uuid, credit_amount bigint, at timestamp with time zone)
 RETURNS TABLE(balance bigint, version bigint, booked boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if exists (select from money_orders where id = ref and kind <> 'adjustment') then
    raise exception 'order % is no adjustment', ref using errcode = 'check_violation';
  end if;
  return query select * from post_credit(organization, 'adjustment', ref, credit_amount, at);
end $function$;
