-- Defined by migrations/0035-audit-chain.sql; change it by a new migration.
--
-- Appends rows that are not linked yet to the chain, in the order of their ids, at most so many; one caller at a time.
-- Answers how many.
CREATE OR REPLACE FUNCTION public.link_audit_rows(count_max integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  chain_lock constant bigint := 1835466757; -- any fixed number
  logged bigint;
  logged_text text;
  last_position bigint;
  last_hash bytea;
  next_hash bytea;
  linked integer := 0;
begin
  if not pg_try_advisory_xact_lock(chain_lock) then
    return 0;
  end if;
  select c.position, c.hash into last_position, last_hash from audit_chain c order by c.position desc limit 1;
  last_position := coalesce(last_position, 0);
  last_hash := coalesce(last_hash, '');
  -- Not joined: a merge would read the log from its beginning each time.
  for logged in select u.audit_id from audit_unlinked u order by u.audit_id limit count_max loop
    select audit_row_text(a) into logged_text from audit_log a where a.id = logged;
    continue when not found; -- deleted before it was linked, which the check finds
    last_position := last_position + 1;
    next_hash := sha256(last_hash || convert_to(logged_text, 'UTF8'));
    insert into audit_chain (position, audit_id, previous_hash, hash)
    values (last_position, logged, last_hash, next_hash);
    delete from audit_unlinked u where u.audit_id = logged;
    last_hash := next_hash;
    linked := linked + 1;
  end loop;
  return linked;
end $function$;
