-- Emails that administrators send again. A link of a user is made and written here, so that their process never has its token.

-- Where users reach the cabinet: links in emails begin with it. Only the customers' process writes it, so that administration
-- cannot lead a link elsewhere.
create table cabinet_address (
  only_row boolean primary key default true check (only_row),
  url text not null check (url ~ '^https?://')
);
comment on column cabinet_address.url is 'Without a slash at its end.';

-- 32 bytes as base64url, of which 244 bits are random.
create function new_link_token() returns text language sql volatile set search_path = public, pg_temp as $$
  select rtrim(translate(encode(decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'), 'base64'),
                         '+/', '-_'), '=')
$$;

-- Writes an email with a new link, as the one before it: to confirm an address, or to set a password. Returns written,
-- outdated (the address is confirmed, or its user blocked or gone), other_kind, or no_address.
create function write_link_again(letter uuid, to_mailbox text) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;

revoke execute on function new_link_token(), write_link_again(uuid, text) from public;

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant select, insert (url), update (url) on cabinet_address to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_administration') is not null then
    grant select on cabinet_address to model_gateway_administration;
    grant select (dedupe_key) on email_outbox to model_gateway_administration; -- never a secret
    grant execute on function count_letters(text), write_link_again(uuid, text) to model_gateway_administration;
  end if;
end $$;
