-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.is_route_owned(model text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from cluster_resources r where r.kind = 'ModelRoute' and r.subject = $1)
$function$;
