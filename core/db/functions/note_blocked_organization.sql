-- Defined by migrations/0043-blocked-organizations.sql; change it by a new migration.
--
-- The lock makes a new key and a block wait for each other: either the block finds the key, or the key finds the block.
CREATE OR REPLACE FUNCTION public.note_blocked_organization()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  select blocked_at into new.organization_blocked_at from organizations where id = new.organization_id for share;
  return new;
end $function$;
