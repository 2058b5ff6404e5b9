-- Defined by migrations/0094-public-models.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.provider_countries()
 RETURNS TABLE(provider text, country text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select name, document ->> 'country' from model_providers where document ? 'country'
$function$;
