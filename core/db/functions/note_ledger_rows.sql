-- Defined by migrations/0027-looks-in-chunks.sql; change it by a new migration.
--
-- A span is of rows without a gap, so that it has no more rows than were noted.
CREATE OR REPLACE FUNCTION public.note_ledger_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into unchecked_ledger_rows (organization_ids, first_seqs, last_seqs, row_count)
  select array_agg(organization_id), array_agg(first_seq), array_agg(last_seq), sum(row_count)
    from (select part, organization_id, min(seq) as first_seq, max(seq) as last_seq, count(*) as row_count
            from (select organization_id, seq, (place - 1) / 1000 as part, seq - place as run
                    from (select organization_id, seq, row_number() over (order by organization_id, seq) as place
                            from added) a) r
           group by part, organization_id, run) s
   group by part;
  return null;
end $function$;
