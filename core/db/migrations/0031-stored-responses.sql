-- Responses that keys keep, encrypted by the gateway. A partition holds those that expire on one day, in UTC, and is
-- dropped once that day is over. No foreign keys: dropping a partition would lock what they refer to.
create table stored_responses (
  id uuid not null,
  expires_at timestamptz not null,
  organization_id uuid not null,
  key_id uuid not null,
  previous_id uuid,
  input bytea not null,
  response bytea not null,
  primary key (id, expires_at)
) partition by range (expires_at);
comment on column stored_responses.id is 'That of its request, a UUIDv7.';
comment on column stored_responses.previous_id is 'The stored response that it continues.';
-- What is encrypted cannot be compressed.
alter table stored_responses alter column input set storage external, alter column response set storage external;

-- Which response has an item. Rows of a deleted response stay until they expire: they lead nowhere.
create table stored_response_items (
  key_id uuid not null,
  item_id text not null,
  expires_at timestamptz not null,
  organization_id uuid not null,
  response_id uuid not null,
  primary key (key_id, item_id, expires_at)
) partition by range (expires_at);

-- Creates the missing partitions of stored responses, from yesterday to 33 days ahead, and drops those of days that are
-- over. Returns how many it created and dropped; 0 while another call does so.
--
-- Dropping one takes an exclusive lock on its parent: it waits 200 ms for that, or leaves it for the next run.
create function keep_response_partitions() returns integer
language plpgsql security definer
set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  parent text;
  first_day date;
  partition text;
  changed integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('model_gateway keep_response_partitions')) then
    return 0;
  end if;
  foreach parent in array array['stored_responses', 'stored_response_items'] loop
    for first_day in select generate_series(current_date - 1, current_date + 33, '1 day')::date loop
      partition := parent || to_char(first_day, '_YYYY_MM_DD');
      continue when to_regclass(partition) is not null;
      execute format('create table %I (like %I including all)', partition, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
                     parent, partition, first_day, first_day + 1);
      changed := changed + 1;
    end loop;
    for partition in
      select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = to_regclass(parent)
         and c.relname < parent || to_char(current_date, '_YYYY_MM_DD')
         and c.relname <> parent || to_char(current_date - 1, '_YYYY_MM_DD')
    loop
      begin
        execute format('drop table %I', partition);
        changed := changed + 1;
      exception when lock_not_available then
        raise log 'partition % is left for the next run', partition;
      end;
    end loop;
  end loop;
  return changed;
end $$;
revoke execute on function keep_response_partitions() from public;

do $$
declare
  -- As in 0017, but for no transaction of the platform: nothing but its key reads a response.
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  table_name text;
begin
  foreach table_name in array array['stored_responses', 'stored_response_items'] loop
    execute format('alter table %I enable row level security', table_name);
    continue when to_regrole('model_gateway_cabinet') is null;
    execute format('grant select, insert, delete on %I to model_gateway_cabinet', table_name);
    execute format('create policy of_named_organization on %I to model_gateway_cabinet
                      using (coalesce(organization_id = %s, false))', table_name, named);
  end loop;
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function keep_response_partitions() to model_gateway_worker;
  end if;
end $$;
