-- Who changed what for a tenant or for the platform, written in the transaction of the change (cabinet/audit/scope.ts).
-- Appended only. No secret and no hash of one is ever in it.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  actor_kind text not null check (actor_kind in ('person', 'administrator', 'resource', 'command', 'job')),
  actor_id text not null,
  action text not null check (action ~ '^[a-z]+[.][a-z_]+$'),
  subject_kind text not null,
  subject_id text not null,
  organization_id uuid references organizations,
  before jsonb,
  after jsonb,
  reason text,
  request_id text
);
comment on column audit_log.actor_id is 'Of a resource: cluster, kind, namespace and name, with / between.';
comment on column audit_log.organization_id is 'Whose it is; null: the platform''s.';
create index on audit_log (organization_id, id);
create index on audit_log (subject_kind, subject_id, id);

create trigger refuse_change before update or delete on audit_log
  for each row execute function refuse_change();
create trigger refuse_truncate before truncate on audit_log
  for each statement execute function refuse_change();

revoke update, delete, truncate on audit_log from public, current_user;

-- Columns, not the table: nobody says when a change happened or in which order.
do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant select, insert (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after,
                          reason, request_id) on audit_log to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_operator') is not null then
    grant insert (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after, reason,
                  request_id) on audit_log to model_gateway_operator;
  end if;
end $$;
