-- Administrators are accounts of their own, with a process and a role of its own: the customers' process can neither make
-- one, nor sign in as one, nor do what only they may do.
do $$
begin
  if to_regrole('model_gateway_administration') is null then
    create role model_gateway_administration nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise notice 'role model_gateway_administration is missing and cannot be made here; its grants are left out';
end $$;

create table administrators (
  id uuid primary key,
  email text not null check (length(email) between 3 and 254 and email !~ '[[:space:]]'),
  password_hash text,
  totp_sealed text,
  totp_last_step bigint not null default 0,
  blocked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  check ((password_hash is null) = (totp_sealed is null))
);
comment on column administrators.password_hash is 'PHC string of argon2id; null: the account is not set up. Never set without a second factor.';
comment on column administrators.totp_last_step is 'Newest time step whose code was accepted: no code is accepted twice.';
create unique index on administrators (lower(email));
create trigger refuse_delete before delete on administrators for each row execute function refuse_change();

-- A link that a command printed. What was chosen with it waits here until a first code confirms it.
create table administrator_setups (
  token_hash bytea primary key,
  administrator_id uuid not null references administrators,
  password_hash text,
  totp_sealed text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz,
  check ((password_hash is null) = (totp_sealed is null))
);
create index on administrator_setups (administrator_id);

-- There is none without a second factor.
create table administrator_sessions (
  id uuid primary key,
  token_hash bytea not null unique,
  administrator_id uuid not null references administrators,
  mfa_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null check (expires_at <= created_at + interval '12 hours 1 minute'),
  address text not null,
  agent text not null
);
comment on column administrator_sessions.mfa_at is 'When a code was last accepted in it.';
create index on administrator_sessions (administrator_id);
create index on administrator_sessions (expires_at);

create table administrator_recovery_codes (
  administrator_id uuid not null references administrators,
  code_hash bytea not null,
  used_at timestamptz,
  primary key (administrator_id, code_hash)
);

-- As idempotency_keys, where the customers' process could let a repeated adjustment be carried out twice.
create table administrator_idempotency_keys (
  scope uuid not null references administrators,
  key text not null check (length(key) between 1 and 255),
  request_hash bytea not null,
  status smallint not null,
  answer jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (scope, key)
);
create index on administrator_idempotency_keys (created_at);

-- Ids stay, so that the audit log and refunds name the same person. Their passwords and second factors do not: the
-- customers' process has seen them. `npm run admin` prints a link that sets new ones.
insert into administrators (id, email, blocked_at)
select u.id, u.email, case when u.role <> 'admin' then clock_timestamp() else u.blocked_at end
  from users u
 where u.role = 'admin' or u.id in (select made_by from refunds) or u.id in (select resolved_by from payment_differences);
delete from sessions where user_id in (select id from users where role = 'admin');
update users set role = 'user' where role = 'admin';
comment on column users.role is 'Not read any more: administrators have accounts of their own. The release before this one reads it.';

alter table refunds drop constraint refunds_made_by_fkey,
  add foreign key (made_by) references administrators;
comment on column refunds.made_by is 'Which administrator; null: made in the provider''s own console.';
alter table payment_differences drop constraint payment_differences_resolved_by_fkey,
  add foreign key (resolved_by) references administrators;

-- As before, and ended sessions and links of administrators.
create or replace function remove_expired(count_max integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  removed integer;
  most integer := 0;
begin
  delete from sessions where ctid = any (array(
    select ctid from sessions where expires_at < now() - interval '1 day' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from administrator_sessions where ctid = any (array(
    select ctid from administrator_sessions where expires_at < now() - interval '1 day' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from administrator_setups where ctid = any (array(
    select ctid from administrator_setups where expires_at < now() - interval '1 day' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  -- Who follows an old link is told that it has expired or was used, for a month.
  delete from email_tokens where ctid = any (array(
    select ctid from email_tokens where expires_at < now() - interval '30 days' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from trial_domains where ctid = any (array(
    select ctid from trial_domains where day < (now() at time zone 'UTC')::date - 1 limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from administrator_idempotency_keys where ctid = any (array(
    select ctid from administrator_idempotency_keys where created_at < now() - interval '24 hours' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from idempotency_keys where ctid = any (array(
    select ctid from idempotency_keys where created_at < now() - interval '24 hours' limit count_max));
  get diagnostics removed = row_count;
  return greatest(most, removed);
end $$;

-- Administration of the release before this one ran in the customers' process. It ends here; customers notice nothing.
do $$
begin
  if to_regrole('model_gateway_cabinet') is null then
    return;
  end if;
  revoke execute on function post_adjustment(uuid, uuid, bigint, timestamptz) from model_gateway_cabinet;
  revoke update (blocked_at) on users from model_gateway_cabinet;
  revoke update (admin_blocked_at) on api_keys from model_gateway_cabinet;
  revoke select on webhook_inbox, payment_differences, audit_log from model_gateway_cabinet;
  revoke update (resolved_at, resolved_by) on payment_differences from model_gateway_cabinet;
  revoke insert (made_by, reason, call_body, next_call_at) on refunds from model_gateway_cabinet;
  -- Its rows of the audit log name users and its own jobs, never an administrator, a command or a cluster.
  create policy of_customers on audit_log as restrictive for insert to model_gateway_cabinet
    with check (actor_kind in ('person', 'job'));
end $$;

do $$
declare
  role_name constant text := 'model_gateway_administration';
  table_name text;
begin
  if to_regrole(role_name) is null then
    return;
  end if;
  grant select (name) on schema_migrations to model_gateway_administration;
  -- No insert: administrators and links are made by a command, which runs as the owner.
  grant select on administrators, administrator_setups, administrator_sessions, administrator_recovery_codes
    to model_gateway_administration;
  grant update (password_hash, totp_sealed, totp_last_step) on administrators to model_gateway_administration;
  grant update (password_hash, totp_sealed, used_at) on administrator_setups to model_gateway_administration;
  grant insert (id, token_hash, administrator_id, expires_at, address, agent), update (mfa_at, seen_at), delete
    on administrator_sessions to model_gateway_administration;
  grant insert (administrator_id, code_hash), update (used_at), delete
    on administrator_recovery_codes to model_gateway_administration;

  grant select on organizations, api_key_credentials, org_account, balance_ledger, memberships, bonuses, audit_log, payments,
    refunds, payment_evidence, payment_differences, webhook_inbox to model_gateway_administration;
  grant select (id, email, locale, email_confirmed_at, totp_enrolled_at, blocked_at, created_at), update (blocked_at)
    on users to model_gateway_administration;
  grant select (id, user_id), delete on sessions to model_gateway_administration;
  grant select, update (admin_blocked_at) on api_keys to model_gateway_administration;
  grant select (cluster_id, kind, namespace, name, subject) on cluster_resources to model_gateway_administration;
  grant insert (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after, reason,
                request_id) on audit_log to model_gateway_administration;
  grant select, insert (scope, key, request_hash, status, answer), update (status, answer), delete
    on administrator_idempotency_keys to model_gateway_administration;
  grant execute on function post_adjustment(uuid, uuid, bigint, timestamptz) to model_gateway_administration;
  -- A refund is called at the provider, and what it answers is settled, as in the worker (0018, 0028, 0029).
  grant update (provider_id, status, cancellation_reason, refunded, confirmation_url, call_body, calls, next_call_at, polls,
                next_poll_at, succeeded_at, evidence_id) on payments to model_gateway_administration;
  grant insert (id, payment_id, organization_id, provider_id, amount, status, cancellation_reason, made_by, reason,
                call_body, next_call_at),
        update (provider_id, status, cancellation_reason, call_body, calls, next_call_at)
    on refunds to model_gateway_administration;
  grant insert (payment_id, provider_id, status, paid, amount, captured_at) on payment_evidence
    to model_gateway_administration;
  grant insert (kind, provider_id, payment_id, ours, theirs), update (resolved_at, resolved_by) on payment_differences
    to model_gateway_administration;
  grant execute on function book_top_up(uuid), grant_welcome(uuid, uuid), book_refund(uuid), reverse_welcome(uuid),
    grant_promised_trial(uuid, uuid), write_letter(text, text, text, text, jsonb, text) to model_gateway_administration;
  foreach table_name in array array['organizations', 'api_keys', 'org_account', 'balance_ledger', 'memberships', 'bonuses',
                                    'audit_log', 'api_key_credentials', 'payments', 'refunds', 'payment_evidence'] loop
    execute format('create policy %I on %I to %I using (true) with check (true)',
                   'all_for_' || role_name, table_name, role_name);
  end loop;
end $$;
