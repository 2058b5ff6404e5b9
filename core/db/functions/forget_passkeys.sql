-- Defined by migrations/0093-passkeys.sql; change it by a new migration.
--
-- A deleted account keeps no passkey.
CREATE OR REPLACE FUNCTION public.forget_passkeys()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  delete from passkeys where user_id = new.id;
  return null;
end $function$;
