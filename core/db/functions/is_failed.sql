-- Defined by migrations/0077-usage-by-provider.sql; change it by a new migration.
--
-- Whether the client got an error. 499: it left before a response. A response that the provider cut off began with 200.
CREATE OR REPLACE FUNCTION public.is_failed(record jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((record ->> 'outcome'::text) = 'upstream_cut'::text) OR ((((record ->> 'status'::text))::integer >= 400) AND (((record ->> 'status'::text))::integer <> 499)));
