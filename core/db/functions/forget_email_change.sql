-- Defined by migrations/0062-email-changes.sql; change it by a new migration.
--
-- A deleted account leaves no address of a change either.
CREATE OR REPLACE FUNCTION public.forget_email_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update email_outbox l set gave_up_at = clock_timestamp(), vars = '{}', last_error = 'account deleted'
    from email_changes c
   where c.user_id = new.id and lower(l.recipient) = lower(c.new_email) and l.kind = 'email_change'
     and l.sent_at is null and l.gave_up_at is null;
  delete from email_outbox l using email_changes c
   where c.user_id = new.id and lower(l.recipient) = lower(c.new_email) and l.kind = 'email_change';
  delete from email_changes where user_id = new.id;
  return null;
end $function$;
