-- How many keys a member may have created. Keys from before are nobody's, and count for nobody.
alter table api_keys add column created_by uuid references users;
comment on column api_keys.created_by is 'Who created it in the cabinet; null: a cluster, a command, or a release that did not note it.';
create index on api_keys (organization_id, created_by) where revoked_at is null and created_by is not null;

alter table memberships add column keys_max integer check (keys_max between 0 and 200);
comment on column memberships.keys_max is 'Keys of its user that may exist at a time; null: as many as the organization may have.';

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (created_by) on api_keys to model_gateway_cabinet;
    grant update (keys_max) on memberships to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_operator') is not null then
    grant insert (created_by) on api_keys to model_gateway_operator; -- always null
  end if;
end $$;
