-- Defined by migrations/0064-archive-outbox.sql; change it by a new migration.
--
-- Notes the next requests from before the start, at most so many. Returns how many; 0: all are noted, or another call does so.
CREATE OR REPLACE FUNCTION public.note_older_for_archive(count_max integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
declare
  place uuid;
  older uuid[];
begin
  select a.noted_to into place from archive a
   where a.started_at is not null and a.noted_at is null for update skip locked;
  if not found then
    return 0;
  end if;
  older := array(select r.id from requests r where r.id > place order by r.id limit count_max);
  if cardinality(older) > 0 then
    insert into archive_outbox (ids) values (older);
  end if;
  update archive set noted_to = coalesce(older[cardinality(older)], noted_to),
                     noted_at = case when cardinality(older) < count_max then clock_timestamp() end;
  return cardinality(older);
end $function$;
