-- Since when every organization may see a model: prices that were replaced before were never public.

alter table model_routes add column opened_at timestamptz default '-infinity';
alter table model_routes alter column opened_at drop default;
comment on column model_routes.opened_at is
  'When the model last became visible to every organization; of no meaning while it is not. Written by a trigger. -infinity: before this column existed.';

create function note_opened_route() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    new.opened_at := clock_timestamp();
  elsif jsonb_typeof(new.document -> 'organizations') = 'null'
        and jsonb_typeof(old.document -> 'organizations') is distinct from 'null' then
    new.opened_at := clock_timestamp();
  end if;
  return new;
end $$;
revoke execute on function note_opened_route() from public;

create trigger note_opened_route before insert or update on model_routes
  for each row execute function note_opened_route();
