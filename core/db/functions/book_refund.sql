-- Defined by migrations/0018-payments.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.book_refund(refund uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  back refunds;
begin
  select * into strict back from refunds r where r.id = refund and r.status = 'succeeded';
  return (select booked from post_credit(back.organization_id, 'refund', back.id, -back.amount, now()));
end $function$;
