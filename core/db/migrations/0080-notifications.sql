-- Alerts of an organization about budgets and spending, by email to its owners and by webhook. Without a row there are none.
create table notification_settings (
  organization_id uuid primary key references organizations,
  budgets boolean not null default false,
  spend_spike boolean not null default false,
  webhook_url text check (length(webhook_url) <= 2048 and webhook_url ~ '^https?://'),
  webhook_secret bytea check (octet_length(webhook_secret) = 32),
  webhook_busy_until timestamptz not null default '-infinity',
  webhook_failures integer not null default 0,
  checked_version bigint,
  checked_at timestamptz,
  next_check_at timestamptz not null default '-infinity',
  emailed_at timestamptz,
  spike_day date,
  check ((webhook_url is null) = (webhook_secret is null))
);
comment on column notification_settings.webhook_secret is 'Signs webhooks. Only the worker reads it; the cabinet shows it once.';
comment on column notification_settings.webhook_busy_until is 'One webhook is in flight, or all wait after a failure, until then.';
comment on column notification_settings.webhook_failures is 'Failed attempts in a row, of whichever webhooks.';
comment on column notification_settings.checked_version is 'The version of the account when its spending was last checked; null: check it.';
comment on column notification_settings.next_check_at is 'No check before: busy organizations and failed checks must not hold up others.';
comment on column notification_settings.emailed_at is 'When an email about budgets was last written: the next ones are collected.';
comment on column notification_settings.spike_day is 'The last day that an alert about high spending was written for.';

-- The highest alert of each budget of a key, for a window and its present limit: each is written once. Those of earlier
-- windows are kept until an email has reported them.
create table budget_alerts (
  key_id uuid not null references api_keys,
  organization_id uuid not null references organizations,
  budget text not null check (budget in ('daily', 'weekly', 'monthly', 'total')),
  first_day date not null,
  limit_nano bigint not null,
  percent smallint not null check (percent in (0, 50, 80, 100)),
  spent_nano bigint not null,
  is_emailed boolean not null,
  primary key (key_id, budget, first_day)
);
create index on budget_alerts (organization_id) where not is_emailed;

-- Written in the transaction of what they report, and sent by the worker.
create table webhook_outbox (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references organizations,
  event text not null check (length(event) between 1 and 64),
  payload text not null check (length(payload) between 2 and 16384),
  created_at timestamptz not null default clock_timestamp(),
  next_attempt_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  sent_at timestamptz,
  gave_up_at timestamptz,
  last_error text check (length(last_error) <= 128),
  check (sent_at is null or gave_up_at is null)
);
comment on column webhook_outbox.id is 'The header webhook-id, the same at every attempt.';
comment on column webhook_outbox.next_attempt_at is 'No attempt before. Attempts also wait for webhook_busy_until of the organization.';
comment on column webhook_outbox.last_error is 'A code or an HTTP status only: a response may contain anything.';
create index on webhook_outbox (next_attempt_at) where sent_at is null and gave_up_at is null;
create index on webhook_outbox (organization_id, created_at desc);
create index on webhook_outbox (created_at) where sent_at is not null or gave_up_at is not null;

create trigger hint_change after insert on webhook_outbox
  for each statement execute function hint_change('webhooks');

-- A lowered budget may be reached without another charge.
create function recheck_budgets() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  update notification_settings set checked_version = null, next_check_at = '-infinity'
   where organization_id = new.organization_id;
  return null;
end $$;
create trigger recheck_budgets after update on api_keys for each row
  when ((old.daily_budget_nano, old.weekly_budget_nano, old.monthly_budget_nano, old.total_budget_nano)
        is distinct from (new.daily_budget_nano, new.weekly_budget_nano, new.monthly_budget_nano, new.total_budget_nano))
  execute function recheck_budgets();

-- What waits was meant for the address that it was written for.
create function give_up_webhooks() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  update webhook_outbox
     set gave_up_at = clock_timestamp(),
         last_error = case when new.webhook_url is null then 'ERR_NO_ADDRESS' else 'ERR_ADDRESS_CHANGED' end
   where organization_id = new.organization_id and sent_at is null and gave_up_at is null;
  return null;
end $$;
create trigger give_up_webhooks after update of webhook_url on notification_settings for each row
  when (old.webhook_url is distinct from new.webhook_url)
  execute function give_up_webhooks();

-- Of an organization without members nothing is kept: its webhook may be the address of a person.
create function forget_notifications() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  if not exists (select from memberships m where m.organization_id = old.organization_id) then
    delete from notification_settings where organization_id = old.organization_id;
    delete from webhook_outbox where organization_id = old.organization_id;
  end if;
  return null;
end $$;
create trigger forget_notifications after delete on memberships
  for each row execute function forget_notifications();
revoke execute on function recheck_budgets(), give_up_webhooks(), forget_notifications() from public;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  table_name text;
begin
  foreach table_name in array array['notification_settings', 'budget_alerts', 'webhook_outbox'] loop
    execute format('alter table %I enable row level security', table_name);
    if to_regrole('model_gateway_worker') is not null then
      execute format('create policy all_for_model_gateway_worker on %I to model_gateway_worker using (true) with check (true)',
                     table_name);
    end if;
    if to_regrole('model_gateway_cabinet') is not null then
      execute format('create policy of_named_organization on %I to model_gateway_cabinet using (coalesce(%s or organization_id = %s, false))',
                     table_name, is_platform, named);
    end if;
  end loop;
  if to_regrole('model_gateway_worker') is not null then
    grant select on cabinet_address to model_gateway_worker;
    grant execute on function count_letters(text) to model_gateway_worker;
    grant select, update (checked_version, checked_at, next_check_at, emailed_at, spike_day, webhook_busy_until,
                          webhook_failures) on notification_settings to model_gateway_worker;
    grant select, insert, update, delete on budget_alerts to model_gateway_worker;
    grant select, insert (organization_id, event, payload), delete,
          update (next_attempt_at, attempts, sent_at, gave_up_at, last_error)
      on webhook_outbox to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select (organization_id, budgets, spend_spike, webhook_url),
          insert (organization_id, budgets, spend_spike, webhook_url, webhook_secret),
          update (budgets, spend_spike, webhook_url, webhook_secret, webhook_busy_until, webhook_failures, checked_version,
                  next_check_at)
      on notification_settings to model_gateway_cabinet;
    grant select (id, organization_id, event, created_at, attempts, sent_at, gave_up_at, last_error),
          insert (organization_id, event, payload) on webhook_outbox to model_gateway_cabinet;
  end if;
end $$;
