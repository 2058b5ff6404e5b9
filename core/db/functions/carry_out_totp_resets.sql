-- Defined by migrations/0052-totp-resets.sql; change it by a new migration.
--
-- Removes second factors whose day has passed, with recovery codes and sessions, at most so many. Returns how many it looked
-- at. Each is audited and reported by email. The last step stays, so that no old code is accepted after a new enrolment.
CREATE OR REPLACE FUNCTION public.carry_out_totp_resets(count_max integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
