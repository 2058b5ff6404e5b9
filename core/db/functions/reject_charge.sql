-- Defined by migrations/0004-posting.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.reject_charge(shard smallint, stream_id text, entry text, sqlstate text, error text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
BEGIN ATOMIC
 INSERT INTO charges_rejected (shard, stream_id, entry, sqlstate, error)
   VALUES (reject_charge.shard, reject_charge.stream_id, reject_charge.entry, reject_charge.sqlstate, reject_charge.error) ON CONFLICT DO NOTHING;
END;
