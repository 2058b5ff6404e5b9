-- Defined by migrations/0101-telegram-of-owners.sql; change it by a new migration.
--
-- The private chat and the code of an owner end with the role. Of a chat whose owner is unknown, any owner is taken for it.
CREATE OR REPLACE FUNCTION public.end_telegram_of_owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
