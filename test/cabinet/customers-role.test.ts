import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { inScope } from '#core/audit/scope'
import { createCustomer } from '../support/customer.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { signedInAdministrator } from '../support/signed-in.ts'

// What a customers' process that was taken over can do to money and administration: it is connected as its role, and runs
// any statement. Tables and functions come from Postgres itself, so that a new one is checked, too.
const database = await databaseOfThisFile()
const { pool: owner } = database
const role = 'model_gateway_cabinet'
const customers = poolAs(role, database)

/** What the role may do with a table of money or administration. */
const money: Readonly<Record<string, readonly string[]>> = {
  account_lanes: [],
  archived_key_days: [],
  archived_ledger: ['SELECT'],
  archived_ledger_hours: [],
  archived_ledger_months: ['SELECT'],
  archived_partitions: [],
  balance_ledger: ['SELECT'],
  balance_ledger_default: [],
  bonuses: ['SELECT'],
  charges_rejected: [],
  checked_key_days: [],
  checked_ledger_days: [],
  checked_ledger_hours: [],
  checked_usage_hours: [],
  durations_hourly: ['SELECT'],
  key_daily_spend: ['SELECT'],
  lane_runs: ['SELECT'],
  ledger_daily: [],
  ledger_hourly: ['SELECT'],
  model_prices: ['SELECT'],
  org_account: ['SELECT'],
  organization_daily_spend: ['SELECT'],
  payment_checks: ['INSERT', 'SELECT'],
  payment_evidence: [],
  // The release before makes payments at the provider. A payment becomes paid only with evidence and a posting.
  payments: ['INSERT', 'SELECT', 'UPDATE'],
  promised_trials: [],
  refunds: ['SELECT'],
  requests: ['SELECT'],
  // Settings of automatic top-ups, and their end. Only the worker saves a card.
  saved_cards: ['DELETE', 'SELECT', 'UPDATE'],
  trial_days: [],
  trial_domains: [],
  usage_by_provider: ['SELECT'],
  usage_hourly: ['SELECT'],
}
const administration: Readonly<Record<string, readonly string[]>> = {
  administrator_idempotency_keys: [],
  administrator_recovery_codes: [],
  administrator_sessions: [],
  administrator_setups: [],
  administrators: [],
  audit_chain: [],
  audit_chain_check: [],
  audit_log: ['INSERT'],
  audit_unlinked: [],
  money_orders: [],
  payment_differences: ['INSERT'],
  totp_resets: [],
  two_person_rule: [],
  webhook_inbox: [],
}

/** The privileges that a role has for a table, or for any of its columns. */
async function privilegesOf(grantee: string, table: string): Promise<string[]> {
  const { rows } = await owner.query<{ privilege: string }>(
    `select privilege from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) privilege
      where has_table_privilege($1, $2, privilege)
         or (privilege not in ('DELETE', 'TRUNCATE') and has_any_column_privilege($1, $2, privilege))
      order by privilege`,
    [grantee, table],
  )
  return rows.map(({ privilege }) => privilege)
}

describe.each(Object.entries({ ...money, ...administration }))('%s', (table, allowed) => {
  test(`allows the customers’ role ${allowed.join(', ') || 'nothing'}, and a superuser everything`, async () => {
    expect(await privilegesOf(role, table)).toEqual(allowed)
    const all = await privilegesOf('postgres', table)
    expect(all).toEqual(['DELETE', 'INSERT', 'SELECT', 'TRUNCATE', 'UPDATE'])
  })

  test('rejects every other statement of the customers’ role', async () => {
    const column = await firstColumnOf(table)
    const statements: Readonly<Record<string, string>> = {
      SELECT: `select from ${table}`,
      INSERT: `insert into ${table} default values`,
      UPDATE: `update ${table} set ${column} = ${column}`,
      DELETE: `delete from ${table}`,
      TRUNCATE: `truncate ${table}`,
    }
    for (const [privilege, sql] of Object.entries(statements)) {
      if (allowed.includes(privilege)) continue
      await expect(customers.query(sql), sql).rejects.toMatchObject({ code: '42501' })
    }
  })
})

async function firstColumnOf(table: string): Promise<string> {
  const { rows } = await owner.query<{ name: string }>(
    `select attname as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity = '' limit 1`,
    [table],
  )
  return rows[0]?.name ?? ''
}

test('every table of money or administration is in this list', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `select distinct c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and (a.attname in ('amount', 'balance', 'balance_after', 'cost', 'charged', 'administrator_id', 'granted', 'daily_max')
             or c.relname ~ '^(administrator|payment|refund)')
      order by 1`,
  )
  const listed = Object.keys({ ...money, ...administration })
  expect(rows.map(({ name }) => name).filter((name) => !listed.includes(name))).toEqual([])
})

test('runs only these functions with the permissions of their owner, and none of them posts a chosen amount', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `select p.oid::regprocedure::text as name from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.prosecdef and has_function_privilege($1, p.oid, 'execute')
        and p.prorettype <> 'trigger'::regtype
      order by 1`,
    [role],
  )
  expect(rows.map(({ name }) => name)).toEqual([
    'begin_email_change(uuid,text,text,text)',
    'cancel_totp_reset(bytea)',
    'cancel_totp_resets_of(uuid)',
    'confirm_email_change(bytea)',
    'count_letters(text)',
    'end_saved_card(uuid,text,text)',
    'grant_trial(uuid,uuid,bytea)',
    'grant_trial(uuid,uuid,bytea,text,bigint)',
    'is_key_pepper(text)',
    'promise_trial(uuid,bytea,text,bigint)',
    'provider_countries()',
    'write_letter(text,text,text,text,jsonb,text)',
  ])
})

describe('a balance', () => {
  const scope = { actor: { kind: 'job', name: 'test' }, organizationId: null } as const
  const runAs = (pool: Pool, statements: readonly string[], id: string) =>
    inScope(pool, scope, async (client) => {
      for (const sql of statements)
        await client.withoutAudit('part of the test', sql, sql.includes('$1') ? [id] : [])
    })
  const call = 'update payments set provider_id = $1::uuid::text, next_call_at = null where id = $1'
  const evidence = `insert into payment_evidence (payment_id, provider_id, status, paid, amount)
                    select id, provider_id, 'succeeded', true, amount from payments where id = $1`
  const proved = `update payments set status = 'succeeded', succeeded_at = now(),
                    evidence_id = (select max(id) from payment_evidence where payment_id = $1) where id = $1`
  const unproved = `update payments set status = 'succeeded', succeeded_at = now() where id = $1`
  const book = 'select book_top_up($1)'
  const ofPayment = '(select organization_id from payments where id = $1)'

  test.each<[string, readonly string[]]>([
    ['with evidence that it made up', [call, evidence, proved, book]],
    ['with no evidence', [call, unproved, book]],
    ['by calling a payment paid', [call, unproved]],
    ['by posting an unpaid payment', [call, book]],
    ['by an adjustment', [`select post_adjustment(${ofPayment}, gen_random_uuid(), 1000, now())`]],
    ['by any credit', [`select post_credit(${ofPayment}, 'top_up', gen_random_uuid(), 1000, now())`]],
    ['by a welcome', ['select grant_welcome(gen_random_uuid(), $1)']],
    ['by a promised trial', ['select grant_promised_trial(gen_random_uuid(), $1)']],
    ['by a row of the ledger', ['insert into balance_ledger default values']],
    ['by its account', [`update org_account set balance = 1000 where organization_id = ${ofPayment}`]],
    ['by charges taken back', ["select post_batch('[]')"]],
    ['by a price of 0', ['update model_prices set input = 0']],
  ])('is not credited %s', async (_, statements) => {
    const { id, organizationId } = await newPayment()
    const refused = { code: expect.stringMatching(/^(?:42501|23514)$/) }
    await expect(runAs(customers, statements, id)).rejects.toMatchObject(refused)
    expect(await balanceOf(organizationId)).toBe(0n)
  })

  test('is credited by the first of these with the permissions of a superuser', async () => {
    const { id, organizationId } = await newPayment()
    await runAs(owner, [call, evidence, proved, book], id)
    expect(await balanceOf(organizationId)).toBe(100_000_000_000n)
  })

  test('is not credited by a notification and the customers’ role together', async () => {
    const { id, organizationId } = await newPayment()
    const object = {
      id,
      status: 'succeeded',
      paid: true,
      amount: { value: '100.00', currency: 'RUB' },
      metadata: { payment_id: id },
    }
    await owner.query(
      `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', 'payment.succeeded', $1, $2)`,
      [id, { object }],
    )
    await expect(runAs(customers, [call, unproved], id)).rejects.toMatchObject({ code: '23514' })
    await expect(runAs(customers, [call, unproved, book], id)).rejects.toMatchObject({ code: '42501' })
    expect(await balanceOf(organizationId)).toBe(0n)
  })

  test('gets at most one trial of 30 ₽ from the customers’ role, whatever it makes up', async () => {
    const { organizationId } = await newPayment()
    for (const mailbox of ['one', 'two', 'three'])
      await customers.query('select grant_trial(gen_random_uuid(), $1, $2, null, null)', [
        organizationId,
        Buffer.from(`${mailbox} of ${organizationId}`),
      ])
    expect(await balanceOf(organizationId)).toBe(30_000_000_000n)
  })

  async function newPayment() {
    const { organizationId } = await createCustomer(owner)
    const [id, userId] = [randomUUID(), randomUUID()]
    await owner.query(
      `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at)
       values ($1, $1::uuid || '@example.com', 'ru', 'x', now(), now())`,
      [userId],
    )
    await owner.query(
      'insert into payments (id, organization_id, user_id, amount) values ($1, $2, $3, 100000000000)',
      [id, organizationId, userId],
    )
    return { id, organizationId }
  }

  async function balanceOf(organizationId: string): Promise<bigint> {
    const { rows } = await owner.query<{ balance: bigint }>(
      'select balance from org_account where organization_id = $1',
      [organizationId],
    )
    return rows[0]?.balance ?? 0n
  }
})

test('an administrator’s session is not forged: no row of it can be made, changed or read', async () => {
  const { administratorId } = await signedInAdministrator(owner)
  const forge = `insert into administrator_sessions (id, token_hash, administrator_id, expires_at, address, agent)
                 values (gen_random_uuid(), sha256('known'), '${administratorId}', now() + interval '1 hour', '', '')`
  const take = `update administrator_sessions set token_hash = sha256('known') where administrator_id = '${administratorId}'`
  const own = `update administrators set password_hash = 'x', totp_sealed = 'x' where id = '${administratorId}'`
  const link = `insert into administrator_setups (token_hash, administrator_id, expires_at)
                values (sha256('known'), '${administratorId}', now() + interval '1 hour')`
  for (const sql of [forge, take, own, link]) {
    await expect(customers.query(sql), sql).rejects.toMatchObject({ code: '42501' })
    await owner.query(`begin; ${sql}; rollback`) // it is a statement that works
  }
})

test('every table that names an organization, and that the customers’ role may read, shows it rows by row-level security', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `select c.relname as name from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity
        and exists (select from pg_attribute a where a.attrelid = c.oid
                     and a.attname in ('organization_id', 'api_key_id', 'key_id', 'payment_id') and not a.attisdropped)
        and (has_table_privilege($1, c.oid, 'select') or has_any_column_privilege($1, c.oid, 'select'))
      order by 1`,
    [role],
  )
  expect(rows).toEqual([])
})
