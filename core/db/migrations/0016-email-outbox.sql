-- Letters, written in the transaction of what they tell about and sent by the worker. A link in `vars` may carry a token
-- that opens an account: nothing of it may be left once the letter needs no more tries, neither here nor in a backup.
create table email_outbox (
  id uuid primary key default gen_random_uuid(),
  kind text not null,
  recipient text not null check (length(recipient) <= 320 and recipient ~ '^[^][:space:]<>(),;:\\"@[]+@[^][:space:]<>(),;:\\"@[]+$'),
  locale text not null check (locale in ('ru', 'en')),
  vars jsonb not null check (jsonb_typeof(vars) = 'object'),
  dedupe_key text unique,
  created_at timestamptz not null default clock_timestamp(),
  next_attempt_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  sent_at timestamptz,
  gave_up_at timestamptz,
  last_error text,
  check (sent_at is null or gave_up_at is null),
  check (vars = '{}' or (sent_at is null and gave_up_at is null))
);
comment on column email_outbox.id is 'Also the local part of the Message-ID, the same at every try.';
comment on column email_outbox.dedupe_key is 'Of two letters with the same one only the first is written. Never a secret.';
comment on column email_outbox.next_attempt_at is 'Whoever tries moves it ahead first: until then the letter is that worker''s.';
comment on column email_outbox.last_error is 'Codes only: what a server answers may repeat the address.';
create index on email_outbox (next_attempt_at) where sent_at is null and gave_up_at is null;
create index on email_outbox (created_at) where sent_at is not null or gave_up_at is not null;

create trigger hint_change after insert on email_outbox
  for each statement execute function hint_change('letters');
create trigger refuse_delete before delete on email_outbox
  for each row when (old.sent_at is null and old.gave_up_at is null) execute function refuse_change();

-- Null: no letter is wanted. Noted when the letter about this fall was written, until the balance is back above.
alter table organizations
  add column low_balance_threshold_nano bigint check (low_balance_threshold_nano >= 0),
  add column low_balance_noted_at timestamptz;
create index on organizations (id) where low_balance_threshold_nano is not null;

-- Columns, not the table: nobody but the worker says that a letter was sent, and nobody when it was written.
do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (kind, recipient, locale, vars, dedupe_key) on email_outbox to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_worker') is not null then
    grant select, insert (kind, recipient, locale, vars, dedupe_key), delete,
          update (vars, next_attempt_at, attempts, sent_at, gave_up_at, last_error)
      on email_outbox to model_gateway_worker;
    grant update (low_balance_noted_at) on organizations to model_gateway_worker;
  end if;
end $$;
