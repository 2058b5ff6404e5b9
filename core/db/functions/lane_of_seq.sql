-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.lane_of_seq(seq bigint)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ((seq >> 48))::smallint;
