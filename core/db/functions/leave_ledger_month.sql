-- Defined by migrations/0084-archived-ledger.sql; change it by a new migration.
--
-- Removes the charges of a closed month, whose sums are in archived_ledger since this transaction began: the copy of its other
-- entries replaces the partition. Fails with lock_not_available after at most 200 ms while other transactions read the ledger, or
-- if they may not see the copy yet, or if it lacks an entry.
CREATE OR REPLACE FUNCTION public.leave_ledger_month(partition text, charges bigint, amount numeric, earlier text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
declare
  p record;
  is_missing boolean;
begin
  select * into strict p from ledger_partitions() l where l.name = partition;
  if not exists (select from pg_trigger
                  where tgrelid = to_regclass(partition) and tgname = 'refuse_archived' and tgenabled <> 'D') then
    raise exception 'partition % is not closed', partition using errcode = 'object_not_in_prerequisite_state';
  end if;
  if not exists (select from (select coalesce(sum(a.entries), 0) as entries, coalesce(sum(a.amount), 0) as amount
                                from archived_ledger a where a.month = partition) k
                  where (k.entries, k.amount) = (leave_ledger_month.charges, leave_ledger_month.amount)) then
    raise exception 'partition % has other charges than were archived', partition
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  if exists (select from pg_locks where locktype = 'virtualxid' and virtualtransaction = any (earlier)) then
    raise exception 'the entries of partition % were copied after a running transaction began', partition
      using errcode = 'lock_not_available';
  end if;
  execute format('lock table only balance_ledger, only balance_ledger_default, only %I in access exclusive mode', partition);
  execute format('select exists (select organization_id, seq, ts, amount from %I where kind <> ''charge''
                                 except select organization_id, seq, ts, amount from ledger_month_left)', partition)
    into is_missing;
  if is_missing then
    raise exception 'partition % has an entry that was not copied', partition using errcode = 'lock_not_available';
  end if;
  execute format('alter table balance_ledger detach partition %I', partition);
  execute format('drop table %I', partition);
  execute format('alter table ledger_month_left rename to %I', partition);
  execute format('alter table balance_ledger attach partition %I for values from (%L) to (%L)', partition, p.from_at, p.to_at);
end $function$;
