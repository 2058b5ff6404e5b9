-- Alerts of an organization's own budgets, next to those of its keys. The older release goes on with its unique index.
alter table budget_alerts drop constraint budget_alerts_pkey, alter column key_id drop not null;
create unique index on budget_alerts (key_id, budget, first_day);
alter table budget_alerts add unique nulls not distinct (organization_id, key_id, budget, first_day);
comment on column budget_alerts.key_id is 'null: the budget of the organization.';

-- A lowered budget may be reached without another charge.
create function recheck_organization_budgets() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  update notification_settings set checked_version = null, next_check_at = '-infinity' where organization_id = new.id;
  return null;
end $$;
create trigger recheck_budgets after update on organizations for each row
  when ((old.daily_budget_nano, old.weekly_budget_nano, old.monthly_budget_nano, old.total_budget_nano)
        is distinct from (new.daily_budget_nano, new.weekly_budget_nano, new.monthly_budget_nano, new.total_budget_nano))
  execute function recheck_organization_budgets();
revoke execute on function recheck_organization_budgets() from public;
