-- Defined by migrations/0101-telegram-of-owners.sql; change it by a new migration.
--
-- The bot got a code: links the chat that it came from, once. Returns the organization; null: the code does not work.
CREATE OR REPLACE FUNCTION public.link_telegram_chat(code_hash bytea, chat_id bigint, chat_name text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
