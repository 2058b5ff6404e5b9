-- Who signs in to the cabinet, what they agreed to, and what they were given.

alter table organizations
  add column display_name text check (length(display_name) between 1 and 100),
  add column time_zone text not null default 'Europe/Moscow';
comment on column organizations.name is 'A slug: what the label of a namespace says. It never changes.';
comment on column organizations.display_name is 'What people call it; null: its slug.';
comment on column organizations.time_zone is 'IANA; its offsets are whole hours, since usage is kept by the hour.';

create table users (
  id uuid primary key,
  email text not null check (length(email) between 3 and 254 and email !~ '[[:space:]]'),
  locale text not null check (locale in ('ru', 'en')),
  role text not null default 'user' check (role in ('user', 'admin')),
  password_hash text not null,
  accepted_offer_at timestamptz not null,
  accepted_pdn_at timestamptz not null,
  email_confirmed_at timestamptz,
  blocked_at timestamptz,
  -- While somebody enrols there is a secret and no time; only with both a code is asked for.
  totp_sealed text,
  totp_enrolled_at timestamptz,
  totp_last_step bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  check (totp_enrolled_at is null or totp_sealed is not null)
);
comment on column users.password_hash is 'PHC string of argon2id.';
comment on column users.totp_last_step is 'Newest time step whose code was accepted: no code is accepted twice.';
create unique index on users (lower(email));
create index on users (created_at desc, id desc);
create trigger refuse_delete before delete on users for each row execute function refuse_change();

-- Each acceptance and each withdrawal of a document, as it was made. Appended only.
create table consents (
  id bigint generated always as identity primary key,
  user_id uuid not null references users,
  kind text not null check (kind in ('offer', 'personal_data')),
  version text not null,
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  locale text not null,
  withdrawn boolean not null default false,
  at timestamptz not null default clock_timestamp(),
  address text not null,
  agent text not null
);
comment on column consents.sha256 is 'Of the text of this version in this language.';
create index on consents (user_id, id);
create trigger refuse_change before update or delete on consents for each row execute function refuse_change();
create trigger refuse_truncate before truncate on consents for each statement execute function refuse_change();
revoke update, delete, truncate on consents from public, current_user;

create table memberships (
  organization_id uuid not null references organizations,
  user_id uuid not null references users,
  role text not null check (role in ('owner', 'developer', 'accountant')),
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_id, organization_id)
);
create index on memberships (organization_id);

-- One who signed in. Only the SHA-256 of the cookie's 256 random bits is stored.
create table sessions (
  id uuid primary key,
  token_hash bytea not null unique,
  user_id uuid not null references users,
  -- password: a code is still to be entered, and nothing else can be done with it.
  stage text not null check (stage in ('password', 'complete')),
  mfa_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  address text not null,
  agent text not null
);
comment on column sessions.mfa_at is 'When a code of the second factor was last accepted in it.';
create index on sessions (user_id);
create index on sessions (expires_at);

-- Links that were sent to an address, each good for one use. Only the SHA-256 of their 256 random bits is stored.
create table email_tokens (
  token_hash bytea primary key,
  kind text not null check (kind in ('verify_email', 'reset_password')),
  user_id uuid not null references users,
  -- Of a registration: the password that was chosen in it. Who confirms a letter confirms that one, and no other's.
  password_hash text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index on email_tokens (user_id, created_at);
create index on email_tokens (expires_at);

create table recovery_codes (
  user_id uuid not null references users,
  code_hash bytea not null,
  used_at timestamptz,
  primary key (user_id, code_hash)
);

-- What was given once, and to whom: these rows outlive an account. id is the ref_id of the row in the ledger.
create table bonuses (
  id uuid primary key,
  organization_id uuid not null references organizations,
  kind text not null check (kind in ('trial', 'welcome')),
  amount bigint not null check (amount > 0),
  address_hash bytea,
  payment_id uuid,
  granted_at timestamptz not null default clock_timestamp(),
  reversed_at timestamptz,
  unique (organization_id, kind),
  unique (address_hash, kind)
);
comment on column bonuses.address_hash is 'Keyed hash of the normalised address; null: given before addresses were known.';
create trigger refuse_delete before delete on bonuses for each row execute function refuse_change();

insert into bonuses (id, organization_id, kind, amount, granted_at)
select ref_id, organization_id, 'trial', amount, ts from balance_ledger where kind = 'trial';

-- Charges are many and the rest is few, and looked for among them.
create index on balance_ledger (organization_id, seq desc) where kind <> 'charge';

-- Sums of the ledger by the hour of its rows' ts: what charges and their corrections took, and where in the order of booking
-- the hour's rows lie. What a span has cost and where its rows are is read from here, however many they are. Kept from the
-- rows themselves, so that it is a proof of usage_hourly, which is kept from the requests.
create table ledger_hourly (
  organization_id uuid not null,
  hour timestamptz not null,
  charged bigint not null,
  first_seq bigint not null,
  last_seq bigint not null,
  primary key (organization_id, hour)
) with (fillfactor = 70);

-- Whoever writes to the ledger holds the account's lock, so hours are never locked crosswise.
create function add_to_ledger_hours() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into ledger_hourly as h (organization_id, hour, charged, first_seq, last_seq)
  select organization_id, date_trunc('hour', ts, 'UTC'),
         coalesce(-sum(amount) filter (where kind in ('charge', 'adjust')), 0), min(seq), max(seq)
    from added group by 1, 2 order by 1, 2
  on conflict (organization_id, hour) do update set
    charged = h.charged + excluded.charged,
    first_seq = least(h.first_seq, excluded.first_seq), last_seq = greatest(h.last_seq, excluded.last_seq);
  return null;
end $$;
-- Before the rows that are there: making it waits for whoever writes to the ledger, and keeps others from it.
create trigger add_to_hours after insert on balance_ledger referencing new table as added
  for each statement execute function add_to_ledger_hours();
insert into ledger_hourly (organization_id, hour, charged, first_seq, last_seq)
select organization_id, date_trunc('hour', ts, 'UTC'),
       coalesce(-sum(amount) filter (where kind in ('charge', 'adjust')), 0), min(seq), max(seq)
  from balance_ledger group by 1, 2;

-- Answers of requests that must be carried out once. No secret is in an answer.
create table idempotency_keys (
  scope uuid not null,
  key text not null check (length(key) between 1 and 255),
  request_hash bytea not null,
  status smallint not null,
  answer jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (scope, key)
);
comment on column idempotency_keys.scope is 'The user who sent it: two users may choose the same key.';
create index on idempotency_keys (created_at);

-- The 30 roubles of a confirmed address: once per organization and once per address. Answers whether they were booked.
create function grant_trial(bonus uuid, organization uuid, hash bytea) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  trial constant bigint := 30000000000;
begin
  if hash is null then
    raise exception 'a trial needs a mailbox' using errcode = 'null_value_not_allowed';
  end if;
  insert into bonuses (id, organization_id, kind, amount, address_hash)
  values (bonus, organization, 'trial', trial, hash) on conflict do nothing;
  if not found then
    return false;
  end if;
  perform post_credit(organization, 'trial', bonus, trial, now());
  return true;
end $$;

-- The one credit that the cabinet's process may book by itself.
create function post_adjustment(organization uuid, ref uuid, credit_amount bigint, at timestamptz)
returns table (balance bigint, version bigint, booked boolean)
language sql security definer set search_path = public, pg_temp as $$
  select * from post_credit($1, 'adjustment', $2, $3, $4)
$$;

-- Removes what is of no use to anybody any more, at most so many rows of each kind. Answers how many of the commonest.
create function remove_expired(count_max integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  removed integer;
  most integer := 0;
begin
  delete from sessions where ctid = any (array(
    select ctid from sessions where expires_at < now() - interval '1 day' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  -- Who follows an old link is told that it has expired or was used, for a month.
  delete from email_tokens where ctid = any (array(
    select ctid from email_tokens where expires_at < now() - interval '30 days' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from idempotency_keys where ctid = any (array(
    select ctid from idempotency_keys where created_at < now() - interval '24 hours' limit count_max));
  get diagnostics removed = row_count;
  return greatest(most, removed);
end $$;

revoke execute on function grant_trial(uuid, uuid, bytea), post_adjustment(uuid, uuid, bigint, timestamptz),
  remove_expired(integer) from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select on bonuses, audit_log, ledger_hourly to model_gateway_worker; -- its job checks the invariants
    grant execute on function remove_expired(integer) to model_gateway_worker;
    -- To whom it writes.
    grant select (id, email, locale, email_confirmed_at, blocked_at) on users to model_gateway_worker;
    grant select (organization_id, user_id, role) on memberships to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is null then
    return;
  end if;
  grant select on organizations, api_keys, api_key_credentials, org_account, balance_ledger, key_daily_spend,
    usage_hourly, ledger_hourly, requests, model_routes, model_prices, users, consents, memberships, sessions, email_tokens,
    recovery_codes, bonuses, idempotency_keys, audit_log to model_gateway_cabinet;
  grant select (cluster_id, kind, namespace, name, subject) on cluster_resources to model_gateway_cabinet;
  grant insert (id, name, shard, display_name, time_zone),
        update (display_name, time_zone, low_balance_threshold_nano)
    on organizations to model_gateway_cabinet;
  grant insert (id, organization_id, name, managed_by, rpm, tpm, daily_budget_nano, allowed_models, expires_at,
                read_balance),
        update (name, owner_blocked_at, admin_blocked_at, revoked_at, rpm, tpm, daily_budget_nano, allowed_models,
                expires_at, read_balance)
    on api_keys to model_gateway_cabinet;
  grant insert (id, key_id, hash, prefix, suffix, delivered_at), update (valid_until, revoked_at)
    on api_key_credentials to model_gateway_cabinet;
  -- No role: administrators are made by a command, which runs as the owner.
  grant insert (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at),
        update (locale, password_hash, accepted_offer_at, accepted_pdn_at, email_confirmed_at, blocked_at, totp_sealed,
                totp_enrolled_at, totp_last_step)
    on users to model_gateway_cabinet;
  grant insert (user_id, kind, version, sha256, locale, withdrawn, address, agent) on consents to model_gateway_cabinet;
  grant insert (organization_id, user_id, role) on memberships to model_gateway_cabinet;
  grant insert, update, delete on sessions to model_gateway_cabinet;
  grant insert (token_hash, kind, user_id, password_hash, expires_at), update (used_at, password_hash), delete
    on email_tokens to model_gateway_cabinet;
  grant insert (user_id, code_hash), update (used_at), delete on recovery_codes to model_gateway_cabinet;
  grant insert (scope, key, request_hash, status, answer), update (status, answer), delete
    on idempotency_keys to model_gateway_cabinet;
  grant insert (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after, reason,
                request_id) on audit_log to model_gateway_cabinet;
  grant execute on function grant_trial(uuid, uuid, bytea), post_adjustment(uuid, uuid, bigint, timestamptz)
    to model_gateway_cabinet;
end $$;

-- The second wall. The cabinet's process sees and writes the rows of the organization that its transaction has named
-- (cabinet/audit/scope.ts), whatever its statement says; named platform, those of everybody; none, nothing. All other
-- roles have no wall but their grants.
do $$
declare
  tables constant text[] := array['organizations', 'api_keys', 'org_account', 'balance_ledger', 'usage_hourly',
                                  'ledger_hourly', 'requests', 'memberships', 'bonuses', 'audit_log'];
  through_key constant text[] := array['api_key_credentials', 'key_daily_spend'];
  -- Selects, so that a statement evaluates them once and not for each row.
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  wall text;
  table_name text;
  role_name text;
begin
  foreach table_name in array tables || through_key loop
    execute format('alter table %I enable row level security', table_name);
    foreach role_name in array array['model_gateway_worker', 'model_gateway_operator'] loop
      continue when to_regrole(role_name) is null;
      execute format('create policy %I on %I to %I using (true) with check (true)',
                     'all_for_' || role_name, table_name, role_name);
    end loop;
    continue when to_regrole('model_gateway_cabinet') is null;
    wall := case
      when table_name = any (through_key)
        then format('exists (select from api_keys k where k.id = key_id and k.organization_id = %s)', named)
      else format('%I = %s', case when table_name = 'organizations' then 'id' else 'organization_id' end, named)
    end;
    -- coalesce: the planner takes it for half of the rows, and else for a hundredth of those that there are, of which it
    -- would rather sort all than read the newest from an index.
    execute format('create policy of_named_organization on %I to model_gateway_cabinet using (coalesce(%s or %s, false))',
                   table_name, is_platform, wall);
  end loop;
end $$;
