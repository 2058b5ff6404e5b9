-- No process may do what its job is not. The cabinet's web process so far answers receipts: it reads what a receipt
-- says and whose key asks for it. Organizations and credits are made by commands, which run as the owner.
do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    revoke all on organizations, api_keys, api_key_credentials, model_providers, model_routes, model_prices,
      catalogue_revision, org_account, balance_ledger, key_daily_spend, usage_hourly, requests, charges_rejected,
      cluster_resources, gateway_replicas, audit_log
      from model_gateway_cabinet;
    revoke execute on function post_credit(uuid, ledger_kind, uuid, bigint, timestamptz), current_catalogue_revision()
      from model_gateway_cabinet;
    grant select (id, organization_id, revoked_at, expires_at, owner_blocked_at, admin_blocked_at, kubernetes_blocked_at)
      on api_keys to model_gateway_cabinet;
    grant select (key_id, hash, valid_until, revoked_at) on api_key_credentials to model_gateway_cabinet;
    grant select (id, ts, organization_id, api_key_id, cost, record) on requests to model_gateway_cabinet;
    grant select (id, input, cached_input, cache_write, output, reasoning, per_request)
      on model_prices to model_gateway_cabinet;
  end if;
  -- Its audit looks whether the default partitions are empty, and so far failed under this role.
  if to_regrole('model_gateway_worker') is not null then
    grant select on balance_ledger_default, requests_default to model_gateway_worker;
  end if;
  -- A provider or route is never renamed, and a price comes into force when it is written: nobody says a time for it.
  if to_regrole('model_gateway_operator') is not null then
    revoke insert, update on model_providers, model_routes, model_prices from model_gateway_operator;
    grant insert (name, document), update (document, updated_at) on model_providers to model_gateway_operator;
    grant insert (model, document, free), update (document, free, updated_at)
      on model_routes to model_gateway_operator;
    grant insert (id, model, input, cached_input, cache_write, output, reasoning, per_request)
      on model_prices to model_gateway_operator;
  end if;
end $$;
