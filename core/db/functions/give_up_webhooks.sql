-- Defined by migrations/0080-notifications.sql; change it by a new migration.
--
-- What waits was meant for the address that it was written for.
CREATE OR REPLACE FUNCTION public.give_up_webhooks()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update webhook_outbox
     set gave_up_at = clock_timestamp(),
         last_error = case when new.webhook_url is null then 'ERR_NO_ADDRESS' else 'ERR_ADDRESS_CHANGED' end
   where organization_id = new.organization_id and sent_at is null and gave_up_at is null;
  return null;
end $function$;
