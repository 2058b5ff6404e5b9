-- Defined by migrations/0010-key-pepper.sql; change it by a new migration.
--
-- Whether this is the pepper's check value. The first value ever passed is stored, also if several calls arrive at once.
CREATE OR REPLACE FUNCTION public.is_key_pepper(asked text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  known text;
begin
  select check_value into known from key_pepper;
  if not found then
    insert into key_pepper (check_value) values (asked) on conflict do nothing;
    select check_value into known from key_pepper;
  end if;
  return known = asked;
end $function$;
