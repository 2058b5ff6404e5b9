-- Defined by migrations/0084-archived-ledger.sql; change it by a new migration.
--
-- Removes the charges of a closed month, whose sums are in archived_ledger since this transaction began: the partition is replaced
-- by one with its other entries. Fails with lock_not_available after at most 200 ms while other transactions read the ledger.
CREATE OR REPLACE FUNCTION public.leave_ledger_month(partition text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
declare
  p record;
  counted record;
begin
  select * into strict p from ledger_partitions() l where l.name = partition;
  execute format('select count(*) as entries, coalesce(sum(amount), 0) as amount from %I where kind = ''charge''', partition)
    into counted;
  if not exists (select from (select coalesce(sum(a.entries), 0) as entries, coalesce(sum(a.amount), 0) as amount
                                from archived_ledger a where a.month = partition) k
                  where (k.entries, k.amount) = (counted.entries, counted.amount)) then
    raise exception 'partition % has other charges than were archived', partition
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  execute 'create table ledger_month_left (like balance_ledger including all)';
  execute format('insert into ledger_month_left select * from %I where kind <> ''charge''', partition);
  execute format('alter table balance_ledger detach partition %I', partition);
  execute format('drop table %I', partition);
  execute format('alter table ledger_month_left rename to %I', partition);
  execute format('create trigger refuse_truncate before truncate on %I
                  for each statement execute function refuse_change()', partition);
  execute format('create trigger refuse_archived before insert on %I for each row when (new.kind in (''charge'', ''adjust''))
                  execute function refuse_archived_charge()', partition);
  execute format('revoke update, delete, truncate on %I from public, current_user', partition);
  execute format('alter table balance_ledger attach partition %I for values from (%L) to (%L)', partition, p.from_at, p.to_at);
end $function$;
