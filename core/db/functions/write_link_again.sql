-- Defined by migrations/0051-resent-emails.sql; change it by a new migration.
--
-- Writes an email with a new link, as the one before it: to confirm an address, or to set a password. Returns written,
-- outdated (the address is confirmed, or its user blocked or gone), other_kind, or no_address.
CREATE OR REPLACE FUNCTION public.write_link_again(letter uuid, to_mailbox text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  no_password constant text := '!';
  old email_outbox;
  recipient users;
  cabinet text;
  token constant text := new_link_token();
  password text;
begin
  select * into old from email_outbox where id = letter;
  if not found or old.kind not in ('verify_email', 'reset_password') then
    return 'other_kind';
  end if;
  select * into recipient from users where lower(email) = lower(old.recipient) for update;
  if not found or recipient.blocked_at is not null
     or (old.kind = 'verify_email' and recipient.email_confirmed_at is not null) then
    return 'outdated';
  end if;
  select url into cabinet from cabinet_address;
  if not found then
    return 'no_address';
  end if;
  if old.kind = 'verify_email' then
    -- After several registrations it is unknown whose password is whose, so the link confirms none of them.
    select case when count(distinct t.password_hash) = 1 then min(t.password_hash) end into password
      from email_tokens t where t.user_id = recipient.id and t.kind = 'verify_email';
    password := coalesce(password, no_password);
  end if;
  insert into email_tokens (token_hash, kind, user_id, password_hash, expires_at)
  values (sha256(convert_to(token, 'UTF8')), old.kind, recipient.id, password,
          now() + case old.kind when 'verify_email' then interval '24 hours' else interval '1 hour' end);
  perform write_letter(old.kind, recipient.email, to_mailbox, recipient.locale, jsonb_build_object('link',
    cabinet || case old.kind when 'verify_email' then '/verify-email' else '/reset' end || '#token=' || token), null);
  return 'written';
end $function$;
