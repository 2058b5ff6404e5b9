-- Defined by migrations/0086-organization-budgets.sql; change it by a new migration.
--
-- Called where the account is locked to the commit, so rows of one organization are never written at the same time.
CREATE OR REPLACE FUNCTION public.note_organization_day()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'INSERT' then
    insert into organization_daily_spend as s (organization_id, day, amount, version)
    select k.organization_id, n.day, sum(n.amount)::bigint, sum(n.version)::bigint
      from new_days n join api_keys k on k.id = n.key_id join organizations o on o.id = k.organization_id
     where coalesce(o.daily_budget_nano, o.weekly_budget_nano, o.monthly_budget_nano, o.total_budget_nano) is not null
     group by 1, 2 order by 1, 2
    on conflict (organization_id, day) do update set amount = s.amount + excluded.amount, version = s.version + excluded.version;
  else
    insert into organization_daily_spend as s (organization_id, day, amount, version)
    select k.organization_id, c.day, sum(c.amount)::bigint, sum(c.version)::bigint
      from (select key_id, day, amount, version from new_days
            union all select key_id, day, -amount, -version from old_days) c
           join api_keys k on k.id = c.key_id join organizations o on o.id = k.organization_id
     where coalesce(o.daily_budget_nano, o.weekly_budget_nano, o.monthly_budget_nano, o.total_budget_nano) is not null
     group by 1, 2 order by 1, 2
    on conflict (organization_id, day) do update set amount = s.amount + excluded.amount, version = s.version + excluded.version;
  end if;
  return null;
end $function$;
