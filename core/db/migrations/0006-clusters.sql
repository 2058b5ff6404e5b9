-- What the operator and the data plane tell: which object of which cluster owns a row, which texts were delivered,
-- and how far the data plane has come.

-- Who may write for a cluster: the holder of the newest epoch. A writer shares the row's lock, so a new epoch waits
-- for the writers of the old one and lets none in after them.
create table cluster_epochs (
  cluster_id text primary key,
  epoch bigint not null,
  holder text not null,
  taken_at timestamptz not null
);

-- The object in a cluster that a key, provider or route belongs to. No row: it was made in the cabinet.
create table cluster_resources (
  cluster_id text not null,
  kind text not null check (kind in ('ApiKey', 'ModelProvider', 'ModelRoute')),
  namespace text not null,
  name text not null,
  uid text not null,
  generation bigint not null,
  subject text not null,
  revision bigint,
  rotation_trigger text,
  rotated_at timestamptz,
  updated_at timestamptz not null default now(),
  primary key (cluster_id, kind, namespace, name),
  unique (kind, subject)
);
comment on column cluster_resources.subject is 'Key id, provider''s name, or model.';
comment on column cluster_resources.revision is 'Catalogue revision that contains its last change; null: of a key.';

-- Gateways that live, as the worker sees them in Redis.
create table gateway_replicas (
  id text primary key,
  revision bigint not null,
  unhealthy jsonb not null,
  seen_at timestamptz not null default now()
);
comment on column gateway_replicas.unhealthy is 'Provider, or provider and model with a space between → reason.';

-- The version that Redis holds at least: written by the worker.
alter table api_keys add column projected_version bigint not null default 0;
alter table api_key_credentials add column projected_version bigint not null default 0;
-- Null: nobody has seen the text yet.
alter table api_key_credentials add column delivered_at timestamptz;
-- Which text is the newest must not depend on when its transaction began.
alter table api_key_credentials alter column created_at set default clock_timestamp();

-- Notes about a row are no change of it: no new version, no hint.
create or replace function stamp_change() returns trigger language plpgsql as $$
declare
  notes constant text[] := array['projected_version', 'delivered_at'];
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - notes = to_jsonb(old) - notes then
    return new;
  end if;
  new.version := case tg_op when 'INSERT' then 1 else old.version + 1 end;
  new.changed_xid := pg_current_xact_id();
  return new;
end $$;

drop trigger hint_change on api_keys;
drop trigger hint_change on api_key_credentials;
create trigger hint_insert after insert on api_keys
  for each statement execute function hint_change('keys');
create trigger hint_update after update on api_keys
  for each row when (new.version > old.version) execute function hint_change('keys');
create trigger hint_insert after insert on api_key_credentials
  for each statement execute function hint_change('keys');
create trigger hint_update after update on api_key_credentials
  for each row when (new.version > old.version) execute function hint_change('keys');

-- Texts so far were handed to whoever asked for them; the projection's cursor sees to what Redis may not have yet.
update api_key_credentials set delivered_at = created_at, projected_version = version;
update api_keys set projected_version = version;
create index on api_keys (id) where projected_version < version;
create index on api_key_credentials (id) where projected_version < version;

do $$
begin
  if to_regrole('model_gateway_operator') is null then
    create role model_gateway_operator nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise notice 'role model_gateway_operator is missing and cannot be made here; its grants are left out';
end $$;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant update (projected_version) on api_keys, api_key_credentials to model_gateway_worker;
    grant select, insert, update, delete on gateway_replicas to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select on cluster_resources, gateway_replicas to model_gateway_cabinet;
  end if;
  -- Columns, not tables: it lifts nobody else's block, and moves no key to another organization.
  if to_regrole('model_gateway_operator') is not null then
    grant select on organizations, api_keys, api_key_credentials, model_providers, model_routes, model_prices,
      catalogue_revision, cluster_epochs, cluster_resources, gateway_replicas to model_gateway_operator;
    grant insert (id, organization_id, name, managed_by, rpm, tpm, daily_budget_nano, allowed_models, expires_at,
                  read_balance),
          update (name, managed_by, kubernetes_blocked_at, revoked_at, rpm, tpm, daily_budget_nano, allowed_models,
                  expires_at, read_balance)
      on api_keys to model_gateway_operator;
    grant insert (id, key_id, hash, prefix, suffix, delivered_at), update (valid_until, revoked_at, delivered_at)
      on api_key_credentials to model_gateway_operator;
    grant insert, update, delete on model_providers, model_routes, cluster_resources to model_gateway_operator;
    grant insert on model_prices to model_gateway_operator;
    grant insert, update on cluster_epochs to model_gateway_operator;
    grant execute on function current_catalogue_revision() to model_gateway_operator;
  end if;
end $$;
