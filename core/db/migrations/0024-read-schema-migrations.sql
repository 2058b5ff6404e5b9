-- Each process compares what the database has with what it was built for, and waits for what is missing.
do $$
declare
  role_name text;
begin
  foreach role_name in array array['model_gateway_worker', 'model_gateway_cabinet', 'model_gateway_webhook', 'model_gateway_operator'] loop
    continue when to_regrole(role_name) is null;
    execute format('grant select (name) on schema_migrations to %I', role_name);
  end loop;
end $$;
