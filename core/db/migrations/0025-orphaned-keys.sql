-- Keys whose ApiKey was deleted with deletionPolicy Orphan. An ApiKey of that name takes its key over again; nothing else
-- would say that it was this one's.
create table orphaned_keys (
  key_id uuid primary key references api_keys,
  cluster_id text not null,
  namespace text not null,
  name text not null,
  rotated_at timestamptz,
  orphaned_at timestamptz not null default now()
);
comment on column orphaned_keys.rotated_at is 'When its newest secret was delivered, as in cluster_resources.';

do $$
begin
  if to_regrole('model_gateway_operator') is not null then
    grant select, insert, delete on orphaned_keys to model_gateway_operator;
  end if;
end $$;
