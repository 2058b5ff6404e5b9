-- Defined by migrations/0084-archived-ledger.sql; change it by a new migration.
--
-- A month that is about to leave gets no more charges, and one that left has none. Its partition stays, so that a late charge is
-- rejected and never in the default partition, where uniqueness would not see the first.
CREATE OR REPLACE FUNCTION public.refuse_archived_charge()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  raise exception 'charge % is of a month whose charges are archived', new.ref_id
    using errcode = 'invalid_parameter_value';
end $function$;
