-- From which session and address a change was requested. The hash of a row covers all of its columns that are not null
-- (0035), so rows of before keep their hashes.
alter table audit_log
  add column session_id text check (session_id ~ '^[0-9a-f]{8}$'),
  add column address text check (length(address) between 1 and 64);
comment on column audit_log.session_id is 'The first characters of the id of the actor''s session; never the cookie.';
comment on column audit_log.address is 'Of the caller: whole for administrators, otherwise only its network.';
create index on audit_log (session_id, id) where session_id is not null;
create index on audit_log (address, id) where address is not null;

do $$
declare
  role_name text;
begin
  foreach role_name in array array['cabinet', 'operator', 'administration'] loop
    if to_regrole('model_gateway_' || role_name) is not null then
      execute format('grant insert (session_id, address) on audit_log to %I', 'model_gateway_' || role_name);
    end if;
  end loop;
end $$;
