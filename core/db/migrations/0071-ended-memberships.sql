-- The budget of a member who leaves stays: as the monthly budget of each of their keys, where owners see it and can change it.
create or replace function copy_member_budget() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  update api_keys k
     set member_monthly_budget_nano = case tg_op when 'UPDATE' then new.monthly_budget_nano end,
         monthly_budget_nano = case tg_op when 'UPDATE' then k.monthly_budget_nano
                                          else least(k.monthly_budget_nano, old.monthly_budget_nano) end
   where k.organization_id = old.organization_id and k.created_by = old.user_id
     and (k.revoked_at is null or k.revoked_at > now() - interval '1 day');
  return null;
end $$;

-- As before; of the keys that a member created, an index finds those that were not revoked before the month.
create or replace function budget_windows(keys uuid[], days date[])
  returns table (id uuid, budget text, day integer, amount bigint, version bigint)
  language sql stable as $$
  select w.id, w.budget, w.first_day - date '1970-01-01', coalesce(sum(s.amount), 0)::bigint,
         coalesce(sum(s.version), 0)::bigint
    from (select distinct k.id, p.budget, p.first_day, p.last_day
            from unnest(keys, days) as asked (id, day) join api_keys k on k.id = asked.id,
                 lateral (select date_trunc('week', asked.day::timestamp)::date as week,
                                 date_trunc('month', asked.day::timestamp)::date as month) f,
                 lateral (values
                   ('k:w', k.weekly_budget_nano, f.week, f.week + 6),
                   ('k:m', k.monthly_budget_nano, f.month, (f.month + interval '1 month' - interval '1 day')::date),
                   ('k:t', k.total_budget_nano, date '1970-01-01', date 'infinity')
                 ) as p (budget, limit_nano, first_day, last_day)
           where p.limit_nano is not null) w
    left join key_daily_spend s on s.key_id = w.id and s.day between w.first_day and w.last_day
   group by w.id, w.budget, w.first_day
  union all
  select w.organization_id, w.user_id || ':m', w.first_day - date '1970-01-01', coalesce(sum(s.amount), 0)::bigint,
         coalesce(sum(s.version), 0)::bigint
    from (select distinct k.organization_id, k.created_by as user_id, date_trunc('month', asked.day::timestamp)::date as first_day
            from unnest(keys, days) as asked (id, day) join api_keys k on k.id = asked.id
           where k.member_monthly_budget_nano is not null) w
    left join api_keys k on k.organization_id = w.organization_id and k.created_by = w.user_id
      and (k.revoked_at is null or k.revoked_at > w.first_day - 2)
    left join key_daily_spend s on s.key_id = k.id
      and s.day between w.first_day and (w.first_day + interval '1 month' - interval '1 day')::date
   group by w.organization_id, w.user_id, w.first_day
$$;

-- A cabinet of an earlier release takes every order without a payment for an adjustment.
create or replace function post_adjustment(organization uuid, ref uuid, credit_amount bigint, at timestamptz)
returns table (balance bigint, version bigint, booked boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from money_orders where id = ref and kind <> 'adjustment') then
    raise exception 'order % is no adjustment', ref using errcode = 'check_violation';
  end if;
  return query select * from post_credit(organization, 'adjustment', ref, credit_amount, at);
end $$;
