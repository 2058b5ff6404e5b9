-- Tags of keys: by them the usage is split.
alter table api_keys add column tags text[] not null default '{}'
  constraint api_keys_tags_check check (
    cardinality(tags) <= 10
    and coalesce(array_to_string(tags, ',', '!'), '') ~ '^([a-z0-9][a-z0-9._-]{0,31}(,[a-z0-9][a-z0-9._-]{0,31})*)?$');

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (tags), update (tags) on api_keys to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_operator') is not null then
    grant insert (tags), update (tags) on api_keys to model_gateway_operator;
  end if;
end $$;
