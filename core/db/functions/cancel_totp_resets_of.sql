-- Defined by migrations/0052-totp-resets.sql; change it by a new migration.
--
-- Cancels what waits for a user who has just used the second factor. Returns whether anything did.
CREATE OR REPLACE FUNCTION public.cancel_totp_resets_of(person uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update totp_resets set state = 'canceled', ended_at = clock_timestamp()
   where user_id = person and state in ('pending', 'scheduled');
  return found;
end $function$;
