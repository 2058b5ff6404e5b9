-- Defined by migrations/0001-organizations-and-keys.sql; change it by a new migration.
--
-- Charges of a key must stay explainable: keys are revoked, never deleted.
CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% of % is not allowed', lower(tg_op), tg_table_name using errcode = 'restrict_violation';
end $function$;
