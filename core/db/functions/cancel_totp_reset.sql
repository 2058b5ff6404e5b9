-- Defined by migrations/0052-totp-resets.sql; change it by a new migration.
--
-- Cancels a scheduled reset by the token of its email. Returns its user, or null: there is none that can be canceled.
CREATE OR REPLACE FUNCTION public.cancel_totp_reset(hash bytea)
 RETURNS uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  update totp_resets set state = 'canceled', ended_at = clock_timestamp()
   where cancel_hash = hash and state = 'scheduled' returning user_id
$function$;
