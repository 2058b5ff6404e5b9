-- Defined by migrations/0019-payments-by-the-book.sql; change it by a new migration.
--
-- Checked at the end of the transaction, on its final rows; of the payment whose id is in the named column.
CREATE OR REPLACE FUNCTION public.require_bookings()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  paid payments;
begin
  select * into strict paid from payments p where p.id = (to_jsonb(new) ->> tg_argv[0])::uuid;
  if paid.succeeded_at is not null and not exists (
    select from balance_ledger l
     where (l.ref_id, l.kind, l.organization_id, l.amount) = (paid.id, 'top_up', paid.organization_id, paid.amount))
  then
    raise exception 'payment % is not booked', paid.id using errcode = 'check_violation';
  end if;
  if paid.refunded <> (select coalesce(sum(r.amount), 0) from refunds r where r.payment_id = paid.id and r.status = 'succeeded')
    or exists (
      select from refunds r
       where r.payment_id = paid.id and r.status = 'succeeded' and not exists (
         select from balance_ledger l
          where (l.ref_id, l.kind, l.organization_id, l.amount) = (r.id, 'refund', paid.organization_id, -r.amount)))
  then
    raise exception 'refunds of payment % are not booked', paid.id using errcode = 'check_violation';
  end if;
  return null;
end $function$;
