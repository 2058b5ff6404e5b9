-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.require_evidence()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if old.provider_id = new.provider_id and exists (
    select from payment_evidence e
     where (e.id, e.payment_id, e.provider_id, e.status, e.paid, e.amount)
         = (new.evidence_id, new.id, new.provider_id, 'succeeded', true, new.amount))
  then
    return new;
  end if;
  -- The release before this keeps no evidence, and may run beside it. It is believed what a third one has written down: the
  -- receiver of notifications, whose inbox it cannot write.
  if new.evidence_id is null and (old.provider_id is null or old.provider_id = new.provider_id) and exists (
    select from webhook_inbox w
     where (w.provider, w.event, w.object_id) = (new.provider, 'payment.succeeded', new.provider_id)
       and w.body @> jsonb_build_object('object', jsonb_build_object(
             'id', new.provider_id, 'status', 'succeeded', 'paid', true,
             'metadata', jsonb_build_object('payment_id', new.id),
             'amount', jsonb_build_object('currency', 'RUB',
                                          'value', to_char(new.amount / 1000000000.0, 'FM999999999990.00')))))
  then
    return new;
  end if;
  raise exception 'payment % is not known to be paid: its provider''s word on % is not in payment_evidence', new.id, new.provider_id
    using errcode = 'check_violation';
end $function$;
