-- An organization that an administrator has blocked: all of its keys are, those that it creates later, too. Other blocks of
-- a key stay what they are, so that unblocking the organization lets exactly the keys work that worked before.
alter table organizations add column blocked_at timestamptz;
alter table api_keys add column organization_blocked_at timestamptz;
comment on column api_keys.organization_blocked_at is 'When its organization was blocked; data plane and cabinet show it as a block by an administrator.';

-- The lock makes a new key and a block wait for each other: either the block finds the key, or the key finds the block.
create function note_blocked_organization() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  select blocked_at into new.organization_blocked_at from organizations where id = new.organization_id for share;
  return new;
end $$;
create trigger note_blocked_organization before insert on api_keys
  for each row execute function note_blocked_organization();

do $$
begin
  if to_regrole('model_gateway_administration') is not null then
    grant update (blocked_at) on organizations to model_gateway_administration;
    grant update (organization_blocked_at) on api_keys to model_gateway_administration;
  end if;
end $$;
