-- Defined by migrations/0018-payments.sql; change it by a new migration.
--
-- 150 rubles for the first payment of 1,000 or more: once per organization and once per address.
CREATE OR REPLACE FUNCTION public.grant_welcome(bonus uuid, payment uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  welcome constant bigint := 150000000000;
  earned_from constant bigint := 1000000000000;
  paid payments;
begin
  select * into paid from payments p where p.id = payment and p.succeeded_at is not null and p.amount >= earned_from;
  if not found then
    return false;
  end if;
  insert into bonuses (id, organization_id, kind, amount, address_hash, payment_id)
  values (bonus, paid.organization_id, 'welcome', welcome, paid.address_hash, paid.id) on conflict do nothing;
  if not found then
    return false;
  end if;
  perform post_credit(paid.organization_id, 'welcome', bonus, welcome, now());
  return true;
end $function$;
