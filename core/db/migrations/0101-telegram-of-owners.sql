-- A private chat gets no more alerts, and a code links no chat, once the owner who linked or made it is no owner. A group stays:
-- its members see what it gets. The audit log does not keep the names of chats: they may be those of users.
alter table telegram_links
  add column code_by uuid references users,
  add column linked_by uuid references users;
comment on column telegram_links.code_by is 'The owner who made the code.';
comment on column telegram_links.linked_by is 'The owner whose code linked the chat; null: an earlier release linked it.';
-- An earlier release did not note who made them. Each works for 15 minutes only.
update telegram_links set code_hash = null, code_expires_at = null where code_hash is not null;

-- The bot got a code: links the chat that it came from, once. Returns the organization; null: the code does not work.
create or replace function link_telegram_chat(code_hash bytea, chat_id bigint, chat_name text) returns uuid
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
declare
  linked uuid;
begin
  update telegram_links l
     set chat_id = $2, chat_name = $3, linked_at = clock_timestamp(), linked_by = l.code_by, ended_reason = null,
         code_hash = null, code_expires_at = null, code_by = null
   where l.code_hash = $1 and l.code_expires_at > clock_timestamp()
     and exists (select from memberships m
                  where m.organization_id = l.organization_id and m.user_id = l.code_by and m.role = 'owner')
  returning l.organization_id into linked;
  if linked is not null then
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id)
    values ('job', 'telegram', 'telegram.link', 'Organization', linked::text, linked);
  end if;
  return linked;
end $$;

-- Ends the links of a chat that can or may get no more messages.
create or replace function end_telegram_links(chat_id bigint, reason text) returns void
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  with ended as (
    update telegram_links l set chat_id = null, linked_at = null, linked_by = null, ended_reason = $2 where l.chat_id = $1
    returning l.organization_id)
  insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, after)
  select 'job', 'telegram', 'telegram.end', 'Organization', organization_id::text, organization_id,
         jsonb_build_object('reason', $2)
    from ended order by ended.organization_id;
end $$;

-- The private chat and the code of an owner end with the role. Of a chat whose owner is unknown, any owner is taken for it.
create function end_telegram_of_owner() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  update telegram_links l set code_hash = null, code_expires_at = null, code_by = null
   where l.organization_id = old.organization_id and l.code_by = old.user_id;
  update telegram_links l set chat_id = null, chat_name = null, linked_at = null, linked_by = null
   where l.organization_id = old.organization_id and l.chat_id > 0
     and (l.linked_by is null or l.linked_by = old.user_id);
  if found then
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, after)
    values ('job', 'telegram', 'telegram.end', 'Organization', old.organization_id::text, old.organization_id,
            jsonb_build_object('reason', 'not_an_owner'));
  end if;
  return null;
end $$;
create trigger end_telegram_of_owner after delete on memberships
  for each row when (old.role = 'owner') execute function end_telegram_of_owner();
create trigger end_telegram_of_changed_owner after update of role on memberships
  for each row when (old.role = 'owner' and new.role <> 'owner') execute function end_telegram_of_owner();
revoke execute on function end_telegram_of_owner() from public;

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (code_by), update (code_by, linked_by) on telegram_links to model_gateway_cabinet;
  end if;
end $$;
