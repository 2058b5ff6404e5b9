-- Keys that let the gateway keep responses. Null: nothing is stored, as before.
alter table api_keys add column keeps_responses_hours smallint check (keeps_responses_hours between 1 and 720);
comment on column api_keys.keeps_responses_hours is 'For how long responses are stored, hours; null: they are not.';

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (keeps_responses_hours), update (keeps_responses_hours) on api_keys to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_operator') is not null then
    grant insert (keeps_responses_hours), update (keeps_responses_hours) on api_keys to model_gateway_operator;
  end if;
end $$;
