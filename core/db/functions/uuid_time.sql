-- Defined by migrations/0003-ledger.sql; change it by a new migration.
--
-- The milliseconds at the beginning of a UUIDv7 (RFC 9562, 5.7). It is the partition key of every row with the id,
-- so that unique (id, ts) is unique everywhere.
CREATE OR REPLACE FUNCTION public.uuid_time(id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN to_timestamp(((((('x'::text || substr(translate((id)::text, '-'::text, ''::text), 1, 12)))::bit(48))::bigint)::double precision / (1000.0)::double precision));
