-- Tokens with which programs manage an organization. They belong to the organization: a removed creator ends none.
create table management_tokens (
  id uuid primary key,
  organization_id uuid not null references organizations,
  created_by uuid not null references users,
  name text not null check (length(name) between 1 and 100),
  scopes text[] not null check (scopes <@ array['keys', 'usage', 'billing'] and cardinality(scopes) between 1 and 3),
  token_hash bytea not null unique,
  hint text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null check (expires_at <= created_at + interval '366 days 1 minute'),
  revoked_at timestamptz,
  last_used_at timestamptz
);
comment on column management_tokens.token_hash is 'HMAC-SHA-256 of the token with the pepper of keys.';
comment on column management_tokens.hint is 'The first and last characters, for display.';
comment on column management_tokens.last_used_at is 'To the minute.';
create index on management_tokens (organization_id, created_at);
alter table management_tokens enable row level security;

comment on column idempotency_keys.scope is 'The user or the management token that sent it: two may choose the same key.';

-- What a program does with a token is done by no user.
alter table audit_log drop constraint audit_log_actor_kind_check,
  add constraint audit_log_actor_kind_check
    check (actor_kind in ('person', 'administrator', 'resource', 'command', 'job', 'token'));

do $$
begin
  if to_regrole('model_gateway_administration') is not null then
    grant select (id, organization_id, created_by, name, scopes, hint, created_at, expires_at, revoked_at, last_used_at)
      on management_tokens to model_gateway_administration;
    create policy all_for_model_gateway_administration on management_tokens to model_gateway_administration using (true);
  end if;
  if to_regrole('model_gateway_cabinet') is null then
    return;
  end if;
  drop policy of_customers on audit_log;
  create policy of_customers on audit_log as restrictive for insert to model_gateway_cabinet
    with check (actor_kind in ('person', 'job', 'token'));
  grant select, insert (id, organization_id, created_by, name, scopes, token_hash, hint, expires_at),
        update (revoked_at, last_used_at), delete on management_tokens to model_gateway_cabinet;
  create policy of_named_organization on management_tokens to model_gateway_cabinet using (coalesce(
    (select current_setting('model_gateway.organization_id', true) = 'platform')
    or organization_id = (select case when current_setting('model_gateway.organization_id', true)
      ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end),
    false));
end $$;
