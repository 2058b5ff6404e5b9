-- Accounts that are deleted as the law requires: what identifies the user is removed, and the ledger, consents and audit log
-- stay. The log has no addresses, so nothing in it changes and its hashes stay valid.
alter table users add column deleted_at timestamptz,
  add check (deleted_at is null or (blocked_at is not null and password_hash = '!' and email like 'deleted-%@deleted.invalid'));
comment on column users.deleted_at is 'When the account was deleted. The row stays for consents, payments and the audit log, without its address.';
create index on users (deleted_at) where deleted_at is not null;

-- Consents may lose the place where they were given, once, and nothing else.
drop trigger refuse_change on consents;
create trigger refuse_change before update on consents for each row when (
  (new.id, new.user_id, new.kind, new.version, new.sha256, new.locale, new.withdrawn, new.at)
    is distinct from (old.id, old.user_id, old.kind, old.version, old.sha256, old.locale, old.withdrawn, old.at)
  or new.address <> '' or new.agent <> '') execute function refuse_change();
create trigger refuse_delete before delete on consents for each row execute function refuse_change();
grant update (address, agent) on consents to current_user;

-- Deletes an account. Its answer has an outcome: deleted, not_found, too_many (in 24 hours), last_owner (other members need an
-- owner first), or has_balance (an organization would be left without members, but with money or an unfinished payment).
-- Nothing is changed unless it is deleted; then the answer has the organizations that the user left, those left without
-- members, and their keys, which were revoked. Organizations with other members keep theirs: programs run with them.
create function delete_account(person uuid) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  per_day_max constant integer := 50;
  owner users;
  joined uuid[];
  emptied uuid[];
  revoked jsonb;
begin
  select * into owner from users where id = person for no key update;
  if not found or owner.deleted_at is not null then
    return '{"outcome": "not_found"}';
  end if;
  if (select count(*) from users where deleted_at > clock_timestamp() - interval '24 hours') >= per_day_max then
    return '{"outcome": "too_many"}';
  end if;
  joined := array(select o.id from organizations o
                   where o.id in (select organization_id from memberships where user_id = person)
                   order by o.id for no key update);
  if exists (select from unnest(joined) j
              where exists (select from memberships m where m.organization_id = j and m.user_id <> person)
                and not exists (select from memberships m
                                 where m.organization_id = j and m.user_id <> person and m.role = 'owner')) then
    return '{"outcome": "last_owner"}';
  end if;
  emptied := array(select j from unnest(joined) j
                    where not exists (select from memberships m where m.organization_id = j and m.user_id <> person));
  if exists (select from org_account a where a.organization_id = any (emptied) and a.balance > 0)
     or exists (select from payments p
                 where p.organization_id = any (emptied) and p.status in ('pending', 'waiting_for_capture')) then
    return '{"outcome": "has_balance"}';
  end if;

  with gone as (
    update api_keys k set revoked_at = now()
     where k.revoked_at is null and k.organization_id = any (emptied)
    returning k.id, k.organization_id, k.name)
  select coalesce(jsonb_agg(jsonb_build_object('id', id, 'organizationId', organization_id, 'name', name)), '[]')
    into revoked from gone;
  update api_key_credentials set revoked_at = now()
   where revoked_at is null and key_id in (select (r ->> 'id')::uuid from jsonb_array_elements(revoked) r);
  update management_tokens set revoked_at = now() where revoked_at is null and organization_id = any (emptied);
  update organizations set blocked_at = coalesce(blocked_at, now()), display_name = null, low_balance_threshold_nano = null
   where id = any (emptied);
  delete from memberships where user_id = person;
  update invitations set revoked_at = clock_timestamp()
   where invited_by = person and accepted_at is null and revoked_at is null;
  delete from invitations where lower(email) = lower(owner.email);

  delete from sessions where user_id = person;
  delete from recovery_codes where user_id = person;
  delete from email_tokens where user_id = person;
  delete from idempotency_keys where scope = person;
  update email_outbox set gave_up_at = clock_timestamp(), vars = '{}', last_error = 'account deleted'
   where lower(recipient) = lower(owner.email) and sent_at is null and gave_up_at is null;
  delete from email_outbox where lower(recipient) = lower(owner.email);
  update totp_resets set state = 'canceled', ended_at = clock_timestamp()
   where user_id = person and state in ('pending', 'scheduled');
  update totp_resets set mailbox = '' where user_id = person;
  update consents set address = '', agent = '' where user_id = person;
  update users set email = 'deleted-' || person || '@deleted.invalid', password_hash = '!', email_confirmed_at = null,
                   totp_sealed = null, totp_enrolled_at = null, blocked_at = coalesce(blocked_at, now()), deleted_at = now()
   where id = person;
  return jsonb_build_object('outcome', 'deleted', 'joined', joined, 'emptied', emptied, 'keys', revoked);
end $$;

revoke execute on function delete_account(uuid) from public;

do $$
begin
  if to_regrole('model_gateway_administration') is not null then
    grant select (deleted_at) on users to model_gateway_administration;
    grant execute on function delete_account(uuid) to model_gateway_administration;
  end if;
end $$;
