-- Which pepper the keys of this database are hashed with: an HMAC under it, which tells nothing about it. One row,
-- written by the first process that has a pepper, and never again.
create table key_pepper (
  singleton boolean primary key default true check (singleton),
  check_value text not null,
  noted_at timestamptz not null default now()
);
create trigger refuse_change before update or delete on key_pepper
  for each row execute function refuse_change();

-- Whether it is that pepper's check value; the first one asked about is, whoever asks at the same time.
create function is_key_pepper(asked text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  known text;
begin
  select check_value into known from key_pepper;
  if not found then
    insert into key_pepper (check_value) values (asked) on conflict do nothing;
    select check_value into known from key_pepper;
  end if;
  return known = asked;
end $$;

revoke execute on function is_key_pepper(text) from public;

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant execute on function is_key_pepper(text) to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_operator') is not null then
    grant execute on function is_key_pepper(text) to model_gateway_operator;
  end if;
end $$;
