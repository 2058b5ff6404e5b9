-- What a day's trials may cost, and what letters one mailbox may get.

-- Whoever grants a trial holds the row of the day: of two at once, the second one sees what the first has taken.
create table trial_days (
  day date primary key,
  granted bigint not null default 0 check (granted >= 0),
  withheld_for_domain integer not null default 0,
  withheld_for_daily_total integer not null default 0
);
comment on column trial_days.day is 'Of UTC.';
comment on column trial_days.granted is 'Nano-roubles.';

create table trial_domains (
  day date not null,
  domain text not null check (length(domain) <= 254),
  granted_count integer not null,
  primary key (day, domain)
);
comment on column trial_domains.domain is 'What somebody has registered; mailboxes of large services are not counted here.';

-- Trials that are granted with the first top-up.
create table promised_trials (
  organization_id uuid primary key references organizations,
  address_hash bytea not null unique,
  domain text,
  daily_max bigint not null check (daily_max >= 0),
  promised_at timestamptz not null default clock_timestamp()
);
comment on column promised_trials.address_hash is 'As in bonuses.';
comment on column promised_trials.domain is 'Null: of a large mail service.';

-- The 30 roubles of a mailbox, once: once per organization and per mailbox, three a day per domain, and at most so much a
-- day for everybody. domain is null for large mail services; daily_max is null where nothing limits a day. Answers
-- granted, had_before, withheld_for_domain or withheld_for_daily_total.
create function grant_trial(bonus uuid, organization uuid, hash bytea, domain text, daily_max bigint) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  trial constant bigint := 30000000000;
  per_domain_max constant integer := 3;
  today constant date := (clock_timestamp() at time zone 'UTC')::date;
  spent trial_days;
begin
  if hash is null then
    raise exception 'a trial needs a mailbox' using errcode = 'null_value_not_allowed';
  end if;
  insert into trial_days (day) values (today) on conflict do nothing;
  select * into strict spent from trial_days d where d.day = today for update;
  if exists (select from bonuses b
              where b.kind = 'trial' and (b.organization_id = organization or b.address_hash = hash)) then
    return 'had_before';
  end if;
  if exists (select from trial_domains t
              where t.day = today and t.domain = grant_trial.domain and t.granted_count >= per_domain_max) then
    update trial_days d set withheld_for_domain = d.withheld_for_domain + 1 where d.day = today;
    return 'withheld_for_domain';
  end if;
  if spent.granted + trial > daily_max then
    update trial_days d set withheld_for_daily_total = d.withheld_for_daily_total + 1 where d.day = today;
    return 'withheld_for_daily_total';
  end if;
  insert into bonuses (id, organization_id, kind, amount, address_hash)
  values (bonus, organization, 'trial', trial, hash) on conflict do nothing;
  if not found then
    return 'had_before';
  end if;
  update trial_days d set granted = d.granted + trial where d.day = today;
  if domain is not null then
    insert into trial_domains as t (day, domain, granted_count) values (today, grant_trial.domain, 1)
    on conflict on constraint trial_domains_pkey do update set granted_count = t.granted_count + 1;
  end if;
  perform post_credit(organization, 'trial', bonus, trial, now());
  return 'granted';
end $$;

-- For the release before, which knows no limits: what it grants counts.
create or replace function grant_trial(bonus uuid, organization uuid, hash bytea) returns boolean
language sql security definer set search_path = public, pg_temp as $$
  select grant_trial($1, $2, $3, null, null) = 'granted'
$$;

-- Notes a trial that is granted with the first top-up. Answers whether it is promised by this call.
create function promise_trial(organization uuid, hash bytea, domain text, daily_max bigint) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from bonuses b
              where b.kind = 'trial' and (b.organization_id = organization or b.address_hash = hash)) then
    return false;
  end if;
  insert into promised_trials (organization_id, address_hash, domain, daily_max)
  values (organization, hash, promise_trial.domain, promise_trial.daily_max) on conflict do nothing;
  return found;
end $$;

-- Grants what was promised to the organization of a payment that was paid. What is withheld stays promised. Answers as
-- grant_trial does, and null where nothing was promised.
create function grant_promised_trial(bonus uuid, payment uuid) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  promised promised_trials;
  answer text;
begin
  select t.* into promised from payments p join promised_trials t on t.organization_id = p.organization_id
   where p.id = payment and p.succeeded_at is not null for update of t;
  if not found then
    return null;
  end if;
  answer := grant_trial(bonus, promised.organization_id, promised.address_hash, promised.domain, promised.daily_max);
  if answer in ('granted', 'had_before') then
    delete from promised_trials t where t.organization_id = promised.organization_id;
  end if;
  return answer;
end $$;

create function trials_of_today()
returns table (granted bigint, withheld_for_domain integer, withheld_for_daily_total integer)
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce(max(d.granted), 0)::bigint, coalesce(max(d.withheld_for_domain), 0),
         coalesce(max(d.withheld_for_daily_total), 0)
    from trial_days d where d.day = (clock_timestamp() at time zone 'UTC')::date
$$;

-- A letter of the release before has no mailbox, and counts for none.
alter table email_outbox add column mailbox text, add column due_at timestamptz;
update email_outbox set due_at = created_at;
alter table email_outbox
  alter column due_at set default clock_timestamp(), alter column due_at set not null;
comment on column email_outbox.mailbox is 'The normalised address: all its spellings are one mailbox.';
comment on column email_outbox.due_at is 'Not sent before: a mailbox gets at most five letters in an hour.';
create index on email_outbox (mailbox, due_at desc) where mailbox is not null;

-- How many letters a mailbox gets in the hour up to now, and later. Until the transaction ends nobody else counts or
-- writes letters to it.
create function count_letters(to_mailbox text) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('mailbox ' || to_mailbox, 0));
  return (select count(*) from email_outbox l
           where l.mailbox = to_mailbox and l.due_at > clock_timestamp() - interval '1 hour');
end $$;

-- Writes a letter, due at once or an hour after the fifth one before it; of two with the same dedupe key the first alone.
create function write_letter(letter_kind text, to_recipient text, to_mailbox text, in_locale text, letter_vars jsonb,
                             once_key text)
returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  per_hour_max constant integer := 5;
  due timestamptz;
begin
  perform count_letters(to_mailbox);
  select greatest(clock_timestamp(), l.due_at + interval '1 hour') into due
    from email_outbox l where l.mailbox = to_mailbox
   order by l.due_at desc offset per_hour_max - 1 limit 1;
  due := coalesce(due, clock_timestamp());
  insert into email_outbox (kind, recipient, mailbox, locale, vars, dedupe_key, due_at, next_attempt_at)
  values (letter_kind, to_recipient, to_mailbox, in_locale, letter_vars, once_key, due, due) on conflict do nothing;
end $$;

-- As before, and how often trials were granted to a domain, of which only today counts.
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
  -- Who follows an old link is told that it has expired or was used, for a month.
  delete from email_tokens where ctid = any (array(
    select ctid from email_tokens where expires_at < now() - interval '30 days' limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from trial_domains where ctid = any (array(
    select ctid from trial_domains where day < (now() at time zone 'UTC')::date - 1 limit count_max));
  get diagnostics removed = row_count;
  most := greatest(most, removed);
  delete from idempotency_keys where ctid = any (array(
    select ctid from idempotency_keys where created_at < now() - interval '24 hours' limit count_max));
  get diagnostics removed = row_count;
  return greatest(most, removed);
end $$;

-- Which keys somebody has created.
create index on audit_log (actor_id) where action = 'key.create';

revoke execute on function grant_trial(uuid, uuid, bytea, text, bigint), promise_trial(uuid, bytea, text, bigint),
  grant_promised_trial(uuid, uuid), trials_of_today(), count_letters(text),
  write_letter(text, text, text, text, jsonb, text) from public;

do $$
declare
  role_name text;
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant execute on function grant_trial(uuid, uuid, bytea, text, bigint), promise_trial(uuid, bytea, text, bigint),
      count_letters(text) to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function trials_of_today() to model_gateway_worker;
  end if;
  foreach role_name in array array['model_gateway_cabinet', 'model_gateway_worker'] loop
    continue when to_regrole(role_name) is null;
    execute format('grant execute on function grant_promised_trial(uuid, uuid),
                      write_letter(text, text, text, text, jsonb, text) to %I', role_name);
  end loop;
end $$;
