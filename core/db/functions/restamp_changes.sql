-- Defined by migrations/0086-organization-budgets.sql; change it by a new migration.
--
-- Stamps rows from the future with this transaction, at most rows_max of each table, and returns how many. Rows locked by
-- other transactions are left for the next call. Call it once per transaction: a second call would find the rows of the
-- first.
CREATE OR REPLACE FUNCTION public.restamp_changes(rows_max integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
  ), due_organization as (
    select id from organizations where zone_xid >= future limit rows_max for no key update skip locked
  ), key as (
    update api_keys k set changed_xid = pg_current_xact_id() from due_key d where k.id = d.id returning 1
  ), credential as (
    update api_key_credentials c set changed_xid = pg_current_xact_id() from due_credential d where c.id = d.id returning 1
  ), account as (
    update org_account a set credited_xid = pg_current_xact_id() from due_account d where a.organization_id = d.id
    returning 1
  ), organization as (
    update organizations o set zone_xid = pg_current_xact_id() from due_organization d where o.id = d.id returning 1
  )
  select (select count(*) from key) + (select count(*) from credential) + (select count(*) from account)
         + (select count(*) from organization) into restamped;
  return restamped;
end $function$;
