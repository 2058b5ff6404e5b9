-- Defined by migrations/0018-payments.sql; change it by a new migration.
--
-- Posts the credit of a payment, once. The amount comes from the rows, never from the caller.
CREATE OR REPLACE FUNCTION public.book_top_up(payment uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  paid payments;
begin
  select * into strict paid from payments p where p.id = payment and p.succeeded_at is not null;
  return (select booked from post_credit(paid.organization_id, 'top_up', paid.id, paid.amount, now()));
end $function$;
