-- Keys that the cabinet's playground makes for an hour are nobody's to look after: lists leave them out.
alter table api_keys add column purpose text not null default 'general' check (purpose in ('general', 'playground'));

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (purpose) on api_keys to model_gateway_cabinet;
  end if;
  -- It writes whole rows, and makes none for the playground.
  if to_regrole('model_gateway_operator') is not null then
    grant insert (purpose) on api_keys to model_gateway_operator;
  end if;
end $$;
