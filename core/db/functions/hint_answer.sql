-- Defined by migrations/0033-payment-checks.sql; change it by a new migration.
--
-- To whom it may concern: a process that waits for this check reads it now.
CREATE OR REPLACE FUNCTION public.hint_answer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('model_gateway_answers', new.id::text);
  return null;
end $function$;
