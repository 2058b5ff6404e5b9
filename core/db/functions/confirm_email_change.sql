-- Defined by migrations/0062-email-changes.sql; change it by a new migration.
--
-- Confirms one of both addresses by the token of its email, and changes the address once both are: all sessions and unused
-- links of the user end, and the old address gets an email. Returns the outcome (invalid, waiting, changed) and the user.
CREATE OR REPLACE FUNCTION public.confirm_email_change(hash bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
