-- Passkeys (WebAuthn credentials) of users. Each signs its user in without a password and a code: the device asks for a
-- fingerprint, a face or a PIN.
create table passkeys (
  id uuid primary key,
  user_id uuid not null references users,
  name text not null,
  credential_id bytea not null unique,
  public_key bytea not null,
  counter bigint not null,
  last_challenge_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz
);
comment on column passkeys.public_key is 'COSE, as the device returned it.';
comment on column passkeys.counter is 'Signatures that the device counted; 0 if it counts none, as synchronized passkeys do.';
comment on column passkeys.last_challenge_at is 'When the challenge of the last signature was issued. An earlier or equal one is not accepted again.';
create index on passkeys (user_id);

-- A deleted account keeps no passkey.
create function forget_passkeys() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  delete from passkeys where user_id = new.id;
  return null;
end $$;
revoke execute on function forget_passkeys() from public;
create trigger forget_passkeys after update of deleted_at on users
  for each row when (new.deleted_at is not null) execute function forget_passkeys();

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant select, insert (id, user_id, name, credential_id, public_key, counter, last_challenge_at),
          update (counter, last_challenge_at, last_used_at), delete
      on passkeys to model_gateway_cabinet;
  end if;
end $$;
