-- Defined by migrations/0096-telegram.sql; change it by a new migration.
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
     set chat_id = $2, chat_name = $3, linked_at = clock_timestamp(), ended_reason = null, code_hash = null,
         code_expires_at = null
   where l.code_hash = $1 and l.code_expires_at > clock_timestamp()
  returning l.organization_id into linked;
  if linked is not null then
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, after)
    values ('job', 'telegram', 'telegram.link', 'Organization', linked::text, linked, jsonb_build_object('chat', $3));
  end if;
  return linked;
end $function$;
