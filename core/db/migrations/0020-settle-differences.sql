-- An administrator says when a difference is settled. What is settled stays: the same one again is no news, another is.
alter table payment_differences
  alter column ours set not null,
  alter column theirs set not null,
  add column resolved_by uuid references users,
  add check (resolved_by is null or resolved_at is not null),
  drop constraint payment_differences_provider_id_kind_key,
  add unique (provider_id, kind, ours, theirs);
comment on column payment_differences.resolved_by is 'Which administrator; why is in audit_log.';

-- Removes notifications that were looked at 90 days ago, at most so many. One that nobody has looked at stays.
create function remove_old_webhooks(count_max integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  removed integer;
begin
  delete from webhook_inbox where ctid = any (array(
    select ctid from webhook_inbox where processed_at < now() - interval '90 days' limit count_max));
  get diagnostics removed = row_count;
  return removed;
end $$;
revoke execute on function remove_old_webhooks(integer) from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function remove_old_webhooks(integer) to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant update (resolved_at, resolved_by) on payment_differences to model_gateway_cabinet;
  end if;
end $$;
