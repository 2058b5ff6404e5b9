-- What administrators need to answer a customer: requests, usage, consents and emails of any organization, found by what
-- the customer has. Nothing here may be changed by their process, and no content of an email is readable.
create index on api_key_credentials (prefix text_pattern_ops, suffix);
create index on users (lower(email) text_pattern_ops);
create index on organizations (lower(name) text_pattern_ops);
create index on organizations (lower(display_name) text_pattern_ops) where display_name is not null;
create index on email_outbox (lower(recipient), created_at desc);

do $$
declare
  role_name constant text := 'model_gateway_administration';
  table_name text;
begin
  if to_regrole(role_name) is null then
    return;
  end if;
  grant select on requests, model_prices, usage_hourly, ledger_hourly, key_daily_spend to model_gateway_administration;
  grant select (id, user_id, kind, version, locale, withdrawn, at) on consents to model_gateway_administration;
  -- Not the values: a link among them may open an account.
  grant select (id, kind, recipient, locale, created_at, next_attempt_at, attempts, sent_at, gave_up_at, last_error)
    on email_outbox to model_gateway_administration;
  foreach table_name in array array['requests', 'usage_hourly', 'ledger_hourly', 'key_daily_spend'] loop
    execute format('create policy %I on %I to %I using (true)', 'all_for_' || role_name, table_name, role_name);
  end loop;
end $$;
