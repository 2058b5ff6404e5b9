-- Defined by migrations/0045-canceled-prices.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.refuse_price_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if tg_op <> 'UPDATE' or old.canceled_at is not null or new.canceled_at is null
     or to_jsonb(new) - 'canceled_at' <> to_jsonb(old) - 'canceled_at'
  then
    raise exception '% of % is not allowed', lower(tg_op), tg_table_name using errcode = 'restrict_violation';
  end if;
  -- Gateways learn of it within a second; the rest is for a slow commit.
  if old.valid_from < clock_timestamp() + interval '10 seconds' then
    raise exception 'price % comes into force at %: too late to cancel it', old.id, old.valid_from
      using errcode = 'restrict_violation';
  end if;
  new.canceled_at := clock_timestamp();
  return new;
end $function$;
