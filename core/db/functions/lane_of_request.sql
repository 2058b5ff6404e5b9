-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
--
-- The lane of a request's entries: by the random end of its UUIDv7, so that a repeated entry waits for the first one.
CREATE OR REPLACE FUNCTION public.lane_of_request(request_id uuid, lanes smallint)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ((((('x'::text || "right"((request_id)::text, 8)))::bit(32))::bigint % (lanes)::bigint))::smallint;
