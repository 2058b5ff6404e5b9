-- Defined by migrations/0086-organization-budgets.sql; change it by a new migration.
--
-- A budget that is set while charges are posted must not miss them: it is set before they are posted, or after. The first
-- one counts what was spent before.
CREATE OR REPLACE FUNCTION public.begin_organization_budget()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform from org_account a where a.organization_id = new.id for share;
  if coalesce(old.daily_budget_nano, old.weekly_budget_nano, old.monthly_budget_nano, old.total_budget_nano) is null then
    perform set_config('model_gateway.booking', 'on', true); -- the sums are those of the keys, which are checked
    insert into organization_daily_spend as s (organization_id, day, amount, version)
    select k.organization_id, d.day, sum(d.amount)::bigint, sum(d.version)::bigint
      from api_keys k join key_daily_spend d on d.key_id = k.id where k.organization_id = new.id group by 1, 2
    on conflict (organization_id, day) do update set amount = excluded.amount, version = excluded.version;
    perform set_config('model_gateway.booking', 'off', true);
  end if;
  return new;
end $function$;
