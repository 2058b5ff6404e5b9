-- The worker tells gateways, which have no Postgres, which pepper is the right one.
do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select on key_pepper to model_gateway_worker;
  end if;
end $$;
