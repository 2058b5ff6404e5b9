-- Least rights. The roles cannot log in; an installation grants them to its users. They belong to the cluster, so
-- another database's migration may make them at the same moment, and this user may not be allowed to.
do $$
declare
  role_name text;
begin
  foreach role_name in array array['model_gateway_worker', 'model_gateway_cabinet'] loop
    continue when to_regrole(role_name) is not null;
    begin
      execute format('create role %I nologin', role_name);
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise notice 'role % is missing and cannot be made here; its grants are left out', role_name;
    end;
  end loop;
end $$;

revoke execute on function post_batch(jsonb), post_round(jsonb, bigint), reject_charge(smallint, text, text, text, text),
  post_credit(uuid, ledger_kind, uuid, bigint, timestamptz), ensure_partitions(integer), current_catalogue_revision()
  from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select on organizations, api_keys, api_key_credentials, model_providers, model_routes, model_prices,
      catalogue_revision, org_account, balance_ledger, key_daily_spend, usage_hourly, requests, charges_rejected
      to model_gateway_worker;
    grant execute on function post_batch(jsonb), reject_charge(smallint, text, text, text, text),
      ensure_partitions(integer), current_catalogue_revision() to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select on organizations, api_keys, api_key_credentials, model_providers, model_routes, model_prices,
      catalogue_revision, org_account, balance_ledger, key_daily_spend, usage_hourly, requests, charges_rejected
      to model_gateway_cabinet;
    grant insert, update on organizations, api_keys, api_key_credentials, model_providers, model_routes
      to model_gateway_cabinet;
    grant delete on model_providers, model_routes to model_gateway_cabinet;
    grant insert on model_prices to model_gateway_cabinet;
    grant execute on function post_credit(uuid, ledger_kind, uuid, bigint, timestamptz), current_catalogue_revision()
      to model_gateway_cabinet;
  end if;
end $$;
