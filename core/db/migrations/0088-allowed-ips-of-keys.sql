-- Where a key may be used from: addresses and networks, null: anywhere. Postgres refuses what is no network.
alter table api_keys add column allowed_ips text[]
  constraint api_keys_allowed_ips_check check (
    cardinality(allowed_ips) between 1 and 100 and array_position(allowed_ips::cidr[], null) is null);

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (allowed_ips), update (allowed_ips) on api_keys to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_operator') is not null then
    grant insert (allowed_ips), update (allowed_ips) on api_keys to model_gateway_operator;
  end if;
end $$;
