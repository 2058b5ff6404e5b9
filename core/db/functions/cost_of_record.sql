-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- The cost of a record's tokens by its price; null: its price is unknown.
CREATE OR REPLACE FUNCTION public.cost_of_record(record jsonb)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select (record -> 'tokens' ->> 'input')::numeric * p.input
         + (record -> 'tokens' ->> 'cachedInput')::numeric * coalesce(p.cached_input, p.input)
         + (record -> 'tokens' ->> 'cacheWrite')::numeric * coalesce(p.cache_write, p.input)
         + (record -> 'tokens' ->> 'output')::numeric * p.output
         + (record -> 'tokens' ->> 'reasoning')::numeric * coalesce(p.reasoning, p.output)
         + p.per_request
    from model_prices p where p.id = (record ->> 'priceId')::uuid
$function$;
