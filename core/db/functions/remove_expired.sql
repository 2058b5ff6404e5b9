-- Defined by migrations/0032-administration.sql; change it by a new migration.
--
-- Removes expired rows, at most so many of each kind, and daily counts of trials per domain before today. Returns the count
-- of the most frequent kind.
CREATE OR REPLACE FUNCTION public.remove_expired(count_max integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  removed integer;
  most integer := 0;
begin
  delete from sessions where ctid = any (array(
    select ctid from sessions where expires_at < now() - interval '1 day' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from administrator_sessions where ctid = any (array(
    select ctid from administrator_sessions where expires_at < now() - interval '1 day' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from administrator_setups where ctid = any (array(
    select ctid from administrator_setups where expires_at < now() - interval '1 day' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  -- Who follows an old link is told that it has expired or was used, for a month.
  delete from email_tokens where ctid = any (array(
    select ctid from email_tokens where expires_at < now() - interval '30 days' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from trial_domains where ctid = any (array(
    select ctid from trial_domains where day < (now() at time zone 'UTC')::date - 1 limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from administrator_idempotency_keys where ctid = any (array(
    select ctid from administrator_idempotency_keys where created_at < now() - interval '24 hours' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from idempotency_keys where ctid = any (array(
    select ctid from idempotency_keys where created_at < now() - interval '24 hours' limit count_max));
  get diagnostics removed = row_count;
  return greatest(most, removed);
end $function$;
