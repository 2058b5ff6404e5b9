-- A user's change of address, which both addresses must confirm. Postgres makes the links and carries the change out, so the
-- process that asks for it never has a link, and cannot write an address. A row ends with the change, or when it is canceled.
create table email_changes (
  user_id uuid primary key references users,
  new_email text not null,
  old_mailbox text not null,
  old_hash bytea not null unique,
  new_hash bytea not null unique,
  begun_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  old_confirmed_at timestamptz,
  new_confirmed_at timestamptz
);
comment on column email_changes.old_mailbox is 'The normalized present address, for the limit of emails.';
comment on column email_changes.old_hash is 'SHA-256 of the token in the email to the present address, which also cancels.';
comment on column email_changes.new_hash is 'SHA-256 of the token in the email to the new address.';
create index on email_changes (expires_at);

-- Begins a change, in place of an unfinished one, and writes both emails. Returns begun, too_soon (within a minute), same, or
-- refused (the user is blocked or gone, or has not confirmed the present address). An address that has an account, or too many
-- emails, gets no link; the caller cannot distinguish that.
create function begin_email_change(person uuid, address text, from_mailbox text, to_mailbox text) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;

-- Confirms one of both addresses by the token of its email, and changes the address once both are: all sessions and unused
-- links of the user end, and the old address gets an email. Returns the outcome (invalid, waiting, changed) and the user.
create function confirm_email_change(hash bytea) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  change email_changes;
  owner users;
begin
  select * into change from email_changes where old_hash = hash or new_hash = hash;
  select * into owner from users where id = change.user_id and blocked_at is null for update; -- first, as a sign-in does
  if not found then
    return '{"outcome": "invalid"}';
  end if;
  update email_changes c
     set old_confirmed_at = coalesce(c.old_confirmed_at, case when c.old_hash = hash then clock_timestamp() end),
         new_confirmed_at = coalesce(c.new_confirmed_at, case when c.new_hash = hash then clock_timestamp() end)
   where (c.old_hash = hash or c.new_hash = hash) and c.expires_at > now()
  returning * into change;
  if not found then
    return '{"outcome": "invalid"}';
  end if;
  if change.old_confirmed_at is null or change.new_confirmed_at is null then
    return jsonb_build_object('outcome', 'waiting', 'user', owner.id);
  end if;
  delete from email_changes where user_id = owner.id;
  begin
    update users set email = change.new_email where id = owner.id;
  exception when unique_violation then -- registered in the meantime
    return '{"outcome": "invalid"}';
  end;
  delete from sessions where user_id = owner.id;
  update email_tokens set used_at = now() where user_id = owner.id and used_at is null;
  perform write_letter('email_changed', owner.email, change.old_mailbox, owner.locale,
                       jsonb_build_object('email', change.new_email), null);
  return jsonb_build_object('outcome', 'changed', 'user', owner.id);
end $$;

-- A deleted account leaves no address of a change either.
create function forget_email_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update email_outbox l set gave_up_at = clock_timestamp(), vars = '{}', last_error = 'account deleted'
    from email_changes c
   where c.user_id = new.id and lower(l.recipient) = lower(c.new_email) and l.kind = 'email_change'
     and l.sent_at is null and l.gave_up_at is null;
  delete from email_outbox l using email_changes c
   where c.user_id = new.id and lower(l.recipient) = lower(c.new_email) and l.kind = 'email_change';
  delete from email_changes where user_id = new.id;
  return null;
end $$;
create trigger forget_email_change after update on users
  for each row when (new.deleted_at is not null and old.deleted_at is null) execute function forget_email_change();

revoke execute on function begin_email_change(uuid, text, text, text), confirm_email_change(bytea), forget_email_change()
  from public;

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant execute on function begin_email_change(uuid, text, text, text), confirm_email_change(bytea) to model_gateway_cabinet;
    -- Of the hashes only the one by which the present address cancels.
    grant select (user_id, new_email, expires_at, old_hash, old_confirmed_at, new_confirmed_at), delete
      on email_changes to model_gateway_cabinet;
  end if;
end $$;
