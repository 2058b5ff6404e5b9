-- Defined by migrations/0084-archived-ledger.sql; change it by a new migration.
--
-- Copies the entries of a month that stay, all but its charges, to the table that will replace its partition. A copy that has
-- the same entries stays. It is committed before the partition is replaced, so that pages that wait for it see the entries.
CREATE OR REPLACE FUNCTION public.copy_ledger_month(partition text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  is_same boolean := false;
begin
  if to_regclass('ledger_month_left') is not null then
    execute format('select not exists (select organization_id, seq, ts, amount from %1$I where kind <> ''charge''
                                       except select organization_id, seq, ts, amount from ledger_month_left)
                       and not exists (select organization_id, seq, ts, amount from ledger_month_left
                                       except select organization_id, seq, ts, amount from %1$I where kind <> ''charge'')', partition)
      into is_same;
    if is_same then
      return false;
    end if;
    execute 'drop table ledger_month_left';
  end if;
  execute 'create table ledger_month_left (like balance_ledger including all)';
  execute format('insert into ledger_month_left select * from %I where kind <> ''charge''', partition);
  execute 'create trigger refuse_truncate before truncate on ledger_month_left
           for each statement execute function refuse_change()';
  execute 'create trigger refuse_archived before insert on ledger_month_left
           for each row when (new.kind in (''charge'', ''adjust'')) execute function refuse_archived_charge()';
  execute 'revoke update, delete, truncate on ledger_month_left from public, current_user';
  return true;
end $function$;
