-- Defined by migrations/0065-archived-partitions.sql; change it by a new migration.
--
-- Creates the missing partitions from the last month to months_ahead, and returns how many; 0 while another call does so.
-- A month whose rows are already in the default partition cannot be created: a warning, and the rest goes on.
--
-- A month's partition is created separately and then attached. That needs no lock on the parent that readers or writers
-- notice, but briefly an exclusive one on the default partition. A backup holds that up while it runs, and later
-- transactions would queue behind this one. So it waits 200 ms at most and leaves the month for the next run. From 7 days
-- before the month begins that is an error.
CREATE OR REPLACE FUNCTION public.ensure_partitions(months_ahead integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
declare
  p record;
  made integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('model_gateway ensure_partitions')) then
    return 0;
  end if;
  for p in select * from missing_partitions(months_ahead) loop
    begin
      execute format('create table %I (like %I including all)', p.name, p.parent);
      if p.parent = 'balance_ledger' then -- row triggers are inherited, this one is not
        execute format('create trigger refuse_truncate before truncate on %I
                        for each statement execute function refuse_change()', p.name);
        execute format('revoke update, delete, truncate on %I from public, current_user', p.name);
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
                     p.parent, p.name, p.first_day, p.end_day);
      made := made + 1;
    exception
      when check_violation then
        raise warning 'partition % cannot be made: %', p.name, sqlerrm;
      when lock_not_available then
        if p.first_day < now() + interval '7 days' then
          raise exception 'partition % is needed soon and cannot be made while somebody reads: %', p.name, sqlerrm
            using errcode = 'lock_not_available';
        end if;
        raise log 'partition % is left for the next run: %', p.name, sqlerrm;
        return made; -- each further one would hold settlement up as long
    end;
  end loop;
  return made;
end $function$;
