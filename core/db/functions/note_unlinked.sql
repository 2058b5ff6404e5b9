-- Defined by migrations/0035-audit-chain.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.note_unlinked()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into audit_unlinked (audit_id) select id from added;
  return null;
end $function$;
