-- Who may call the gateway. Blocking by balance is derived from org_account, never stored here.

create table organizations (
  id uuid primary key,
  name text not null unique check (name ~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'),
  shard smallint not null check (shard between 0 and 63),
  created_at timestamptz not null default now()
);
create index on organizations (shard);

create table api_keys (
  id uuid primary key,
  organization_id uuid not null references organizations,
  name text not null check (length(name) between 1 and 253),
  managed_by text not null check (managed_by in ('cabinet', 'kubernetes')),
  -- Each block has one writer, so lifting one never lifts another's.
  owner_blocked_at timestamptz,
  admin_blocked_at timestamptz,
  kubernetes_blocked_at timestamptz,
  revoked_at timestamptz,
  expires_at timestamptz,
  rpm integer check (rpm > 0),
  tpm integer check (tpm > 0),
  daily_budget_nano bigint check (daily_budget_nano >= 0),
  allowed_models text[],
  read_balance boolean not null default false,
  created_at timestamptz not null default now(),
  version bigint not null,
  changed_xid xid8 not null
);
comment on column api_keys.rpm is 'Requests in any 60 s; null: the platform''s default.';
comment on column api_keys.tpm is 'Estimated tokens in any 60 s; null: the platform''s default.';
comment on column api_keys.daily_budget_nano is 'Nano-roubles in one Moscow day; null: no budget.';
comment on column api_keys.allowed_models is 'Names or provider/*; null: all.';
create index on api_keys (organization_id);
create index on api_keys (changed_xid);

-- The texts that open a key: one, or two while a rotation's grace lasts. Only a keyed hash is stored.
create table api_key_credentials (
  id uuid primary key,
  key_id uuid not null references api_keys,
  hash text not null unique,
  prefix text not null,
  suffix text not null,
  created_at timestamptz not null default now(),
  valid_until timestamptz,
  revoked_at timestamptz,
  version bigint not null,
  changed_xid xid8 not null
);
create index on api_key_credentials (key_id);
create index on api_key_credentials (changed_xid);

-- The projection asks for changed_xid >= its cursor and lets the newer version win.
create function stamp_change() returns trigger language plpgsql as $$
begin
  new.version := case tg_op when 'INSERT' then 1 else old.version + 1 end;
  new.changed_xid := pg_current_xact_id();
  return new;
end $$;

create trigger stamp_change before insert or update on api_keys
  for each row execute function stamp_change();
create trigger stamp_change before insert or update on api_key_credentials
  for each row execute function stamp_change();

-- A hint to look now; whoever misses it finds the change by polling. Argument: the kind of change.
create function hint_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('model_gateway_changes', tg_argv[0]);
  return null;
end $$;

create trigger hint_change after insert or update on api_keys
  for each statement execute function hint_change('keys');
create trigger hint_change after insert or update on api_key_credentials
  for each statement execute function hint_change('keys');

-- What was sold under a key stays explainable for ever: keys are revoked, not deleted.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% of % is not allowed', lower(tg_op), tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger refuse_delete before delete on organizations
  for each row execute function refuse_change();
create trigger refuse_delete before delete on api_keys
  for each row execute function refuse_change();
create trigger refuse_delete before delete on api_key_credentials
  for each row execute function refuse_change();
