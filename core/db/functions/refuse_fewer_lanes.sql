-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.refuse_fewer_lanes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'an account with % lanes cannot have %', old.lanes, new.lanes using errcode = 'check_violation';
end $function$;
