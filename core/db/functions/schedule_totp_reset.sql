-- Defined by migrations/0052-totp-resets.sql; change it by a new migration.
--
-- An approved reset waits for a day, and its user gets an email with a link that cancels it. The token of the link is known
-- to the email only.
CREATE OR REPLACE FUNCTION public.schedule_totp_reset()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  recipient users;
  cabinet text;
  token constant text := new_link_token();
begin
  if new.user_id <> old.user_id or (old.state is not null and old.state <> 'pending') then
    raise exception 'a reset is approved once' using errcode = 'check_violation';
  end if;
  select * into strict recipient from users where id = new.user_id;
  select url into strict cabinet from cabinet_address;
  new.due_at := clock_timestamp() + interval '24 hours';
  new.cancel_hash := sha256(convert_to(token, 'UTF8'));
  perform write_letter('totp_reset_planned', recipient.email, new.mailbox, recipient.locale, jsonb_build_object(
    'at', to_char(new.due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'link', cabinet || '/totp-reset#token=' || token), null);
  return new;
end $function$;
