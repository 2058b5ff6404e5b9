-- Defined by migrations/0029-trials-and-mailboxes.sql; change it by a new migration.
--
-- The number of emails to a mailbox in the last hour and in the future. Until the transaction ends, no other transaction
-- counts or writes emails to it.
CREATE OR REPLACE FUNCTION public.count_letters(to_mailbox text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended('mailbox ' || to_mailbox, 0));
  return (select count(*) from email_outbox l
           where l.mailbox = to_mailbox and l.due_at > clock_timestamp() - interval '1 hour');
end $function$;
