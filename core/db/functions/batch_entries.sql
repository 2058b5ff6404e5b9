-- Defined by migrations/0004-posting.sql; change it by a new migration.
--
-- The entries of a batch as rows. occurrence counts the entries of one request, in order.
CREATE OR REPLACE FUNCTION public.batch_entries(entries jsonb)
 RETURNS TABLE(place bigint, occurrence bigint, request_id uuid, ts timestamp with time zone, rank smallint, organization_id uuid, key_id uuid, day date, cost bigint, record jsonb)
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT e.place,
     row_number() OVER (PARTITION BY e.request_id ORDER BY e.place) AS row_number,
     e.request_id,
     uuid_time(e.request_id) AS uuid_time,
     e.rank,
     e.organization_id,
     e.key_id,
     ('1970-01-01'::date + e.day),
     e.cost,
     e.record
    FROM ROWS FROM(jsonb_to_recordset(batch_entries.entries) AS (request_id uuid, rank smallint, organization_id uuid, key_id uuid, day integer, cost bigint, record jsonb)) WITH ORDINALITY e(request_id, rank, organization_id, key_id, day, cost, record, place);
END;
