-- Defined by migrations/0053-deleted-accounts.sql; change it by a new migration.
--
-- Deletes an account. Its answer has an outcome: deleted, not_found, too_many (in 24 hours), last_owner (other members need an
-- owner first), or has_balance (an organization would be left without members, but with money or an unfinished payment).
-- Nothing is changed unless it is deleted; then the answer has the organizations that the user left, those left without
-- members, and the keys that were revoked: those of the latter, and those that the user created.
CREATE OR REPLACE FUNCTION public.delete_account(person uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
