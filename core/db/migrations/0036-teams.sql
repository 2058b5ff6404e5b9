-- Colleagues: invitations to an organization, and which of their organizations users chose last.

alter table memberships add column chosen_at timestamptz;
comment on column memberships.chosen_at is 'When its user chose it last. New browser tabs open the latest; a request never depends on it.';

-- No secret is in an email: an invitation is accepted by a user who has confirmed its address.
create table invitations (
  id uuid primary key,
  organization_id uuid not null references organizations,
  email text not null check (length(email) between 3 and 254 and email !~ '[[:space:]]'),
  role text not null check (role in ('owner', 'developer', 'accountant')),
  invited_by uuid not null references users,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  revoked_at timestamptz,
  check (accepted_at is null or revoked_at is null)
);
comment on column invitations.revoked_at is 'By an owner, by its recipient, or when its sender was an owner no longer.';
create unique index on invitations (organization_id, lower(email)) where accepted_at is null and revoked_at is null;
create index on invitations (organization_id, created_at);
create index on invitations (lower(email)) where accepted_at is null and revoked_at is null;

alter table invitations enable row level security;

do $$
begin
  if to_regrole('model_gateway_administration') is not null then
    grant select on invitations to model_gateway_administration;
    create policy all_for_model_gateway_administration on invitations to model_gateway_administration using (true);
  end if;
  if to_regrole('model_gateway_cabinet') is null then
    return;
  end if;
  grant insert (chosen_at), update (role, chosen_at), delete on memberships to model_gateway_cabinet;
  grant select, insert (id, organization_id, email, role, invited_by, expires_at), update (accepted_at, revoked_at), delete
    on invitations to model_gateway_cabinet;
  create policy of_named_organization on invitations to model_gateway_cabinet using (coalesce(
    (select current_setting('model_gateway.organization_id', true) = 'platform')
    or organization_id = (select case when current_setting('model_gateway.organization_id', true)
      ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end),
    false));
end $$;
