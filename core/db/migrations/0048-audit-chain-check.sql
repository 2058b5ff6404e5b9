-- What the last nightly check of the audit log's chain found. Only a worker that has read the whole chain writes it.
create table audit_chain_check (
  only_row boolean primary key default true check (only_row),
  checked_at timestamptz,
  linked_count bigint not null default 0,
  head text not null default '',
  bad_count bigint not null default 0,
  first_bad_id text,
  first_bad_why text,
  check ((bad_count = 0) = (first_bad_id is null) and (bad_count = 0) = (first_bad_why is null))
);
comment on column audit_chain_check.checked_at is 'When the check began; null: there was none yet.';
comment on column audit_chain_check.head is 'The newest hash, in hex. Keep it outside the database to find out later whether the end was cut off.';
insert into audit_chain_check default values;
create trigger refuse_delete before delete on audit_chain_check for each row execute function refuse_change();

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select on audit_chain, audit_unlinked to model_gateway_worker;
    grant select, update (checked_at, linked_count, head, bad_count, first_bad_id, first_bad_why)
      on audit_chain_check to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_administration') is not null then
    grant select on audit_chain_check to model_gateway_administration;
  end if;
end $$;
