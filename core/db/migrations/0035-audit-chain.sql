-- Rows of the audit log are linked by hashes, so that one that was edited or deleted is found, also where a superuser did it.
-- A worker links them after their transactions: in these, a chain would let one writer wait for another.

-- The row at a position of the chain. Appended only. hash is that of previous_hash and the row's text.
create table audit_chain (
  position bigint primary key check (position > 0),
  audit_id bigint not null unique, -- no foreign key: it outlives a row that was deleted
  previous_hash bytea not null,
  hash bytea not null check (length(hash) = 32)
);
comment on column audit_chain.position is 'Without gaps, in the order of linking. A row that was committed late has a lower id than the one before it.';
create trigger refuse_change before update or delete on audit_chain
  for each row execute function refuse_change();
create trigger refuse_truncate before truncate on audit_chain
  for each statement execute function refuse_change();
revoke update, delete, truncate on audit_chain from public, current_user;

-- Rows that are not linked yet.
create table audit_unlinked (audit_id bigint primary key);

create function note_unlinked() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into audit_unlinked (audit_id) select id from added;
  return null;
end $$;
create trigger note_unlinked after insert on audit_log referencing new table as added
  for each statement execute function note_unlinked();
insert into audit_unlinked (audit_id) select id from audit_log;

-- What the hash of a row covers: every column, in a form that depends on no setting. Columns that are null are left out, so
-- that a new column changes no hash. `npm run invariants` has the same expression (core/audit/verify-chain.ts).
create function audit_row_text(logged audit_log) returns text language sql stable as $$
  select (jsonb_strip_nulls(to_jsonb(logged) - 'at' - 'before' - 'after')
          || jsonb_build_object('at', extract(epoch from logged.at)::text, 'before', logged.before, 'after', logged.after))::text
$$;

-- Appends rows that are not linked yet to the chain, in the order of their ids, at most so many; one caller at a time.
-- Answers how many.
create function link_audit_rows(count_max integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;

revoke execute on function note_unlinked(), audit_row_text(audit_log), link_audit_rows(integer) from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function link_audit_rows(integer) to model_gateway_worker;
  end if;
end $$;
