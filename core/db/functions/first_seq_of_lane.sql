-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.first_seq_of_lane(lane smallint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (((lane)::bigint << 48) + 1);
