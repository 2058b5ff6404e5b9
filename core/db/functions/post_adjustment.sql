-- Defined by migrations/0017-people.sql; change it by a new migration.
--
-- The only credit that the cabinet's process may post itself.
CREATE OR REPLACE FUNCTION public.post_adjustment(organization uuid, ref uuid, credit_amount bigint, at timestamp with time zone)
 RETURNS TABLE(balance bigint, version bigint, booked boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select * from post_credit($1, 'adjustment', $2, $3, $4)
$function$;
