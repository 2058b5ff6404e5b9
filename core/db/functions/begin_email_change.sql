-- Defined by migrations/0062-email-changes.sql; change it by a new migration.
--
-- Begins a change, in place of an unfinished one, and writes both emails. Returns begun, too_soon (within a minute), same, or
-- refused (the user is blocked or gone, or has not confirmed the present address). An address that has an account, or too many
-- emails, gets no link; the caller cannot distinguish that.
CREATE OR REPLACE FUNCTION public.begin_email_change(person uuid, address text, from_mailbox text, to_mailbox text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  strangers_per_hour_max constant integer := 4;
  owner users;
  cabinet text;
  old_token constant text := new_link_token();
  new_token constant text := new_link_token();
  is_taken boolean;
begin
  select * into owner from users where id = person for update;
  if not found or owner.blocked_at is not null or owner.email_confirmed_at is null then
    return 'refused';
  end if;
  if lower(owner.email) = lower(address) then
    return 'same';
  end if;
  if exists (select from email_changes where user_id = person and begun_at > clock_timestamp() - interval '1 minute') then
    return 'too_soon';
  end if;
  select url into strict cabinet from cabinet_address;
  delete from email_changes where user_id = person or expires_at < now() - interval '30 days';
  insert into email_changes (user_id, new_email, old_mailbox, old_hash, new_hash, expires_at)
  values (person, address, from_mailbox, sha256(convert_to(old_token, 'UTF8')), sha256(convert_to(new_token, 'UTF8')),
          now() + interval '24 hours');
  perform write_letter('email_change_approval', owner.email, from_mailbox, owner.locale, jsonb_build_object(
    'email', address, 'link', cabinet || '/email-change#token=' || old_token || '&old=1'), null);
  is_taken := exists (select from users where lower(email) = lower(address));
  if count_letters(to_mailbox) >= strangers_per_hour_max then
    return 'begun';
  end if;
  if is_taken then
    perform write_letter('already_registered', address, to_mailbox, owner.locale, jsonb_build_object(
      'loginLink', cabinet || '/login', 'resetLink', cabinet || '/reset'), null);
  else
    perform write_letter('email_change', address, to_mailbox, owner.locale, jsonb_build_object(
      'link', cabinet || '/email-change#token=' || new_token), null);
  end if;
  return 'begun';
end $function$;
