-- Defined by migrations/0019-payments-by-the-book.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.payment_rank(status text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case status when 'pending' then 0 when 'waiting_for_capture' then 1 when 'canceled' then 2 when 'succeeded' then 2
                     when 'partially_refunded' then 3 when 'refunded' then 4 end
$function$;
