-- Defined by migrations/0101-telegram-of-owners.sql; change it by a new migration.
--
-- Ends the links of a chat that can or may get no more messages.
CREATE OR REPLACE FUNCTION public.end_telegram_links(chat_id bigint, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  with ended as (
    update telegram_links l set chat_id = null, linked_at = null, linked_by = null, ended_reason = $2 where l.chat_id = $1
    returning l.organization_id)
  insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, after)
  select 'job', 'telegram', 'telegram.end', 'Organization', organization_id::text, organization_id,
         jsonb_build_object('reason', $2)
    from ended order by ended.organization_id;
end $function$;
