-- Defined by migrations/0018-payments.sql; change it by a new migration.
--
-- Takes the welcome credit back once less than 1,000 rubles of the payment that earned it are left.
CREATE OR REPLACE FUNCTION public.reverse_welcome(payment uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  earned_from constant bigint := 1000000000000;
  taken bonuses;
begin
  update bonuses b set reversed_at = now()
    from payments p
   where p.id = payment and b.payment_id = p.id and b.kind = 'welcome' and b.reversed_at is null
     and p.amount - p.refunded < earned_from
  returning b.* into taken;
  if not found then
    return false;
  end if;
  perform post_credit(taken.organization_id, 'bonus_reversal', taken.id, -taken.amount, now());
  return true;
end $function$;
