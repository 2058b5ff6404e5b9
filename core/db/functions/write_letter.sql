-- Defined by migrations/0029-trials-and-mailboxes.sql; change it by a new migration.
--
-- Writes an email, due at once or an hour after the fifth one before it; of two with the same dedupe key, only the first.
CREATE OR REPLACE FUNCTION public.write_letter(letter_kind text, to_recipient text, to_mailbox text, in_locale text, letter_vars jsonb, once_key text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
