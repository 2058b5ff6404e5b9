-- A restored dump keeps the transaction ids of the server it was taken from, and on one whose own count is lower every
-- row would lie ahead of every cursor, as if it changed all the time. Stamping such a row anew is no change of it.
create or replace function stamp_change() returns trigger language plpgsql as $$
declare
  notes constant text[] := array['projected_version', 'delivered_at', 'changed_xid'];
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - notes = to_jsonb(old) - notes then
    return new;
  end if;
  new.version := case tg_op when 'INSERT' then 1 else old.version + 1 end;
  new.changed_xid := pg_current_xact_id();
  return new;
end $$;

-- Stamps rows that say to be from the future with this transaction, at most rows_max of each table, and answers how
-- many they were. Rows that somebody else holds are left for the next call. One call a transaction: a second one would
-- find what the first one stamped.
create function restamp_changes(rows_max integer) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  future constant xid8 := pg_snapshot_xmax(pg_current_snapshot());
  restamped bigint;
begin
  with due_key as (
    select id from api_keys where changed_xid >= future limit rows_max for no key update skip locked
  ), due_credential as (
    select id from api_key_credentials where changed_xid >= future limit rows_max for no key update skip locked
  ), due_account as (
    select organization_id as id from org_account where credited_xid >= future limit rows_max
       for no key update skip locked
  ), key as (
    update api_keys k set changed_xid = pg_current_xact_id() from due_key d where k.id = d.id returning 1
  ), credential as (
    update api_key_credentials c set changed_xid = pg_current_xact_id() from due_credential d where c.id = d.id returning 1
  ), account as (
    update org_account a set credited_xid = pg_current_xact_id() from due_account d where a.organization_id = d.id
    returning 1
  )
  select (select count(*) from key) + (select count(*) from credential) + (select count(*) from account) into restamped;
  return restamped;
end $$;

revoke execute on function restamp_changes(integer) from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function restamp_changes(integer) to model_gateway_worker;
  end if;
end $$;
