-- A second factor that its user has lost. One administrator asks for its removal and another approves; a day later a worker
-- removes it, unless its user or an administrator has canceled. Neither administration nor the customers' process can do so.
create table totp_resets (
  id uuid primary key,
  user_id uuid not null references users,
  mailbox text not null,
  reason text not null,
  ordered_by uuid not null references administrators,
  ordered_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  state text not null check (state in ('pending', 'scheduled', 'declined', 'expired', 'canceled', 'done')),
  decided_by uuid references administrators,
  decided_at timestamptz,
  decision_reason text,
  due_at timestamptz,
  cancel_hash bytea unique,
  ended_at timestamptz,
  check (decided_by <> ordered_by or state = 'declined'),
  check ((decided_by is null) = (decided_at is null) and (decided_by is null) = (decision_reason is null)),
  check (due_at is not null or state not in ('scheduled', 'done'))
);
comment on column totp_resets.mailbox is 'The normalized address of the user, for the limit of emails; empty once the account is deleted.';
comment on column totp_resets.expires_at is 'A pending one cannot be approved after this.';
comment on column totp_resets.due_at is 'When the second factor is removed: a day after the approval, whoever writes the row.';
comment on column totp_resets.cancel_hash is 'SHA-256 of the token in the user''s email.';
create unique index on totp_resets (user_id) where state in ('pending', 'scheduled');
create index on totp_resets (ordered_at desc, id desc);
create index on totp_resets (due_at) where state = 'scheduled';
create trigger refuse_change before update on totp_resets
  for each row when (old.state not in ('pending', 'scheduled') and (new.mailbox <> '' or new.state <> old.state)) execute function refuse_change();
create trigger refuse_delete before delete on totp_resets for each row execute function refuse_change();
create trigger refuse_truncate before truncate on totp_resets for each statement execute function refuse_change();

-- An approved reset waits for a day, and its user gets an email with a link that cancels it. The token of the link is known
-- to the email only.
create function schedule_totp_reset() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;
create trigger schedule_new before insert on totp_resets
  for each row when (new.state = 'scheduled') execute function schedule_totp_reset();
create trigger schedule before update on totp_resets
  for each row when (new.state = 'scheduled') execute function schedule_totp_reset();

-- Cancels a scheduled reset by the token of its email. Returns its user, or null: there is none that can be canceled.
create function cancel_totp_reset(hash bytea) returns uuid
language sql security definer set search_path = public, pg_temp as $$
  update totp_resets set state = 'canceled', ended_at = clock_timestamp()
   where cancel_hash = hash and state = 'scheduled' returning user_id
$$;

-- Cancels what waits for a user who has just used the second factor. Returns whether anything did.
create function cancel_totp_resets_of(person uuid) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update totp_resets set state = 'canceled', ended_at = clock_timestamp()
   where user_id = person and state in ('pending', 'scheduled');
  return found;
end $$;

-- Removes second factors whose day has passed, with recovery codes and sessions, at most so many. Returns how many it looked
-- at. Each is audited and reported by email. The last step stays, so that no old code is accepted after a new enrolment.
create function carry_out_totp_resets(count_max integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  due totp_resets;
  owner users;
  looked integer := 0;
begin
  for due in select * from totp_resets where state = 'scheduled' and due_at <= clock_timestamp()
              order by due_at limit count_max loop
    looked := looked + 1;
    select * into strict owner from users where id = due.user_id for update; -- first, as a sign-in does
    perform from totp_resets where id = due.id and state = 'scheduled' for update;
    continue when not found; -- canceled, or carried out by another worker
    update totp_resets set state = case when owner.totp_enrolled_at is null then 'canceled' else 'done' end,
                           ended_at = clock_timestamp()
     where id = due.id;
    continue when owner.totp_enrolled_at is null;
    update users set totp_enrolled_at = null, totp_sealed = null where id = owner.id;
    delete from recovery_codes where user_id = owner.id;
    delete from sessions where user_id = owner.id;
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, before, after, reason)
    values ('job', 'totp-resets', 'user.reset_totp', 'User', owner.id::text, '{"totp": true}',
            jsonb_build_object('totp', false, 'resetId', due.id), due.reason);
    perform write_letter('totp_disabled', owner.email, due.mailbox, owner.locale, '{}', null);
  end loop;
  return looked;
end $$;

revoke execute on function schedule_totp_reset(), cancel_totp_reset(bytea), cancel_totp_resets_of(uuid),
  carry_out_totp_resets(integer) from public;

do $$
begin
  if to_regrole('model_gateway_administration') is not null then
    grant select (id, user_id, reason, ordered_by, ordered_at, expires_at, state, decided_by, decided_at, decision_reason,
                  due_at, ended_at),
          insert (id, user_id, mailbox, reason, ordered_by, expires_at, state),
          update (state, decided_by, decided_at, decision_reason)
      on totp_resets to model_gateway_administration;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant execute on function cancel_totp_reset(bytea), cancel_totp_resets_of(uuid) to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function carry_out_totp_resets(integer) to model_gateway_worker;
  end if;
end $$;
