-- Alerts of an organization by a Telegram bot. An owner links a chat by a one-time code, which the bot receives.
create table telegram_bot (
  only_row boolean primary key default true check (only_row),
  bot_id bigint,
  username text check (username ~ '^[A-Za-z0-9_]{1,64}$'),
  next_update_id bigint not null default 0,
  last_update_at timestamptz,
  poller uuid,
  polled_until timestamptz not null default '-infinity',
  paused_until timestamptz not null default '-infinity',
  failures integer not null default 0
);
comment on table telegram_bot is 'What workers share about the bot; its token is only in their settings.';
comment on column telegram_bot.next_update_id is 'The first update that was not processed; for this bot_id.';
comment on column telegram_bot.last_update_at is 'After a week without updates Telegram may choose other numbers.';
comment on column telegram_bot.polled_until is 'One worker reads updates until then. Long ago: no worker has a token.';
comment on column telegram_bot.paused_until is 'Telegram failed, or asked to wait: no call before.';
insert into telegram_bot default values;

create table telegram_links (
  organization_id uuid primary key references organizations,
  locale text not null check (locale in ('ru', 'en')),
  code_hash bytea unique check (octet_length(code_hash) = 32),
  code_expires_at timestamptz,
  chat_id bigint,
  chat_name text check (length(chat_name) between 1 and 128),
  linked_at timestamptz,
  ended_reason text check (ended_reason in ('blocked', 'stopped', 'not_found')),
  check ((code_hash is null) = (code_expires_at is null)),
  check ((chat_id is null) = (linked_at is null)),
  check (chat_id is null or (chat_name is not null and ended_reason is null))
);
create index on telegram_links (chat_id) where chat_id is not null;
comment on column telegram_links.locale is 'The language of messages: that of the owner who linked the chat.';
comment on column telegram_links.code_hash is 'SHA-256 of the code that links a chat, once.';
comment on column telegram_links.ended_reason is 'Why Telegram or the chat ended the link; null: it did not.';

-- Written in the transaction of what they report, and sent by the worker.
create table telegram_outbox (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references organizations,
  event text not null check (length(event) between 1 and 64),
  body text not null check (length(body) between 1 and 4096),
  created_at timestamptz not null default clock_timestamp(),
  next_attempt_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  sent_at timestamptz,
  gave_up_at timestamptz,
  last_error text check (length(last_error) <= 128),
  check (sent_at is null or gave_up_at is null)
);
comment on column telegram_outbox.last_error is 'A code or an HTTP status only: an error could contain the token of the bot.';
create index on telegram_outbox (next_attempt_at) where sent_at is null and gave_up_at is null;
create index on telegram_outbox (organization_id, created_at desc);
create index on telegram_outbox (created_at);

create trigger hint_change after insert on telegram_outbox
  for each statement execute function hint_change('telegram');

-- The bot got a code: links the chat that it came from, once. Returns the organization; null: the code does not work.
create function link_telegram_chat(code_hash bytea, chat_id bigint, chat_name text) returns uuid
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
declare
  linked uuid;
begin
  update telegram_links l
     set chat_id = $2, chat_name = $3, linked_at = clock_timestamp(), ended_reason = null, code_hash = null,
         code_expires_at = null
   where l.code_hash = $1 and l.code_expires_at > clock_timestamp()
  returning l.organization_id into linked;
  if linked is not null then
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, after)
    values ('job', 'telegram', 'telegram.link', 'Organization', linked::text, linked, jsonb_build_object('chat', $3));
  end if;
  return linked;
end $$;

-- Ends the links of a chat that can or may get no more messages.
create function end_telegram_links(chat_id bigint, reason text) returns void
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  with ended as (
    update telegram_links l set chat_id = null, linked_at = null, ended_reason = $2 where l.chat_id = $1
    returning l.organization_id, l.chat_name)
  insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after)
  select 'job', 'telegram', 'telegram.end', 'Organization', organization_id::text, organization_id,
         jsonb_build_object('chat', chat_name), jsonb_build_object('reason', $2)
    from ended order by ended.organization_id;
end $$;

-- Of an organization without members nothing is kept: its chat may be that of a person.
create function forget_telegram() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  if not exists (select from memberships m where m.organization_id = old.organization_id) then
    delete from telegram_links where organization_id = old.organization_id;
    delete from telegram_outbox where organization_id = old.organization_id;
  end if;
  return null;
end $$;
create trigger forget_telegram after delete on memberships
  for each row execute function forget_telegram();
revoke execute on function forget_telegram(), link_telegram_chat(bytea, bigint, text), end_telegram_links(bigint, text) from public;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  table_name text;
begin
  foreach table_name in array array['telegram_links', 'telegram_outbox'] loop
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
    grant select, update (bot_id, username, next_update_id, last_update_at, poller, polled_until, paused_until, failures)
      on telegram_bot to model_gateway_worker;
    grant select, update (chat_id) on telegram_links to model_gateway_worker;
    grant execute on function link_telegram_chat(bytea, bigint, text), end_telegram_links(bigint, text) to model_gateway_worker;
    grant select, insert (organization_id, event, body), delete,
          update (next_attempt_at, attempts, sent_at, gave_up_at, last_error)
      on telegram_outbox to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select (username, polled_until) on telegram_bot to model_gateway_cabinet;
    grant select (organization_id, locale, code_expires_at, chat_name, linked_at, ended_reason),
          insert (organization_id, locale, code_hash, code_expires_at),
          update (locale, code_hash, code_expires_at, chat_id, chat_name, linked_at, ended_reason)
      on telegram_links to model_gateway_cabinet;
    grant select (id, organization_id, event, created_at, attempts, sent_at, gave_up_at, last_error),
          insert (organization_id, event, body) on telegram_outbox to model_gateway_cabinet;
  end if;
end $$;
