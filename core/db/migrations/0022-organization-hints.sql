-- Hints for the pages of one organization: which of its keys and payments changed. Balances need none: whoever watches one
-- compares org_account.version, so that booking a charge costs no notification.

-- As in 0001: whoever misses a hint finds the change by reading. Arguments: the kind, then the id of the organization and of the row.
create function hint_organization(what text, organization_id uuid, id uuid) returns void language sql as $$
  select pg_notify('model_gateway_organizations', what || ' ' || organization_id || ' ' || id)
$$;

create function hint_key() returns trigger language plpgsql as $$
begin
  perform hint_organization('keys', new.organization_id, new.id);
  return null;
end $$;
create trigger hint_organization_insert after insert on api_keys
  for each row execute function hint_key();
create trigger hint_organization_update after update on api_keys
  for each row when (new.version > old.version) execute function hint_key();

create function hint_key_of_secret() returns trigger language plpgsql as $$
begin
  perform hint_organization('keys', k.organization_id, k.id) from api_keys k where k.id = new.key_id;
  return null;
end $$;
create trigger hint_organization_insert after insert on api_key_credentials
  for each row execute function hint_key_of_secret();
create trigger hint_organization_update after update on api_key_credentials
  for each row when (new.version > old.version) execute function hint_key_of_secret();

-- Not for when it is asked about next: only for what its payer is shown.
create function hint_payment() returns trigger language plpgsql as $$
begin
  perform hint_organization('payments', new.organization_id, new.id);
  return null;
end $$;
create trigger hint_organization_insert after insert on payments
  for each row execute function hint_payment();
create trigger hint_organization_update after update on payments for each row
  when ((new.status, new.refunded, new.confirmation_url) is distinct from (old.status, old.refunded, old.confirmation_url))
  execute function hint_payment();
