import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { inReadScope, inScope } from '#cabinet/audit/scope'
import type { Queryable } from '#cabinet/db/pool'
import { auditBooksIfDue } from '#cabinet/ledger/internal/audit-books'
import { lookAtBooks } from '#cabinet/ledger/internal/look-at-books'
import { postBatch } from '#cabinet/ledger/post-batch'
import { createCustomer, entryOf } from '../support/customer.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'

// That each role is enough for its job is proven by every other test: their processes have these roles (stack.ts).
const database = await databaseOfThisFile()

const refusedToAll = [
  'insert into balance_ledger default values',
  'delete from balance_ledger',
  'truncate balance_ledger',
  'update org_account set balance = 0',
  'update requests set cost = 0',
  'delete from requests',
  'update key_daily_spend set amount = 0',
  'update api_keys set organization_id = gen_random_uuid()',
  "update api_key_credentials set hash = 'x'",
  'delete from api_keys',
  'delete from api_key_credentials',
  'insert into organizations (id, name, shard) values (gen_random_uuid(), null, 0)',
  'update organizations set shard = 1',
  'update model_prices set input = 0',
  'insert into model_prices (valid_from) values (now())',
  'insert into model_prices (scheduled) values (true)',
  'update catalogue_revision set revision = 0',
  "select post_credit(gen_random_uuid(), 'trial', gen_random_uuid(), 1, now())",
  "select post_round('[]', 1)",
  'insert into schema_migrations default values',
  "update key_pepper set check_value = 'x'",
  "update audit_log set action = 'a.b'",
  'delete from audit_log',
  'create table stray ()',
  'update email_outbox set recipient = null',
  'insert into email_outbox (created_at) values (now())',
  'insert into email_outbox (sent_at) values (now())',
  'delete from payments',
  'update payments set amount = 1',
  'update payments set organization_id = gen_random_uuid()',
  "insert into payments (status) values ('succeeded')",
  'update refunds set amount = 1',
  'delete from webhook_inbox',
  "update webhook_inbox set body = '{}'",
  'insert into webhook_inbox (processed_at) values (now())',
  'delete from payment_differences',
  "update payment_differences set theirs = 'none'",
]

const refused = {
  model_gateway_worker: [
    'update organizations set low_balance_threshold_nano = 0',
    'update api_keys set owner_blocked_at = null',
    'update api_keys set admin_blocked_at = null',
    'select password_hash from users',
    'select from sessions',
    'insert into bonuses default values',
    'insert into payments default values',
    'insert into webhook_inbox default values',
    'update payment_differences set resolved_at = now()',
    'update api_keys set rpm = 1',
    'update api_keys set kubernetes_blocked_at = null',
    'update api_keys set revoked_at = null',
    'insert into api_key_credentials default values',
    'update api_key_credentials set revoked_at = null',
    'update api_key_credentials set delivered_at = now()',
    'insert into model_providers default values',
    'update model_routes set free = true',
    'insert into charges_rejected default values',
    'insert into unchecked_requests default values',
    'update unchecked_ledger_rows set first_seqs = null',
    'select from cluster_epochs',
    'insert into cluster_epochs default values',
    'insert into cluster_resources default values',
    "select is_key_pepper('x')",
  ],
  model_gateway_webhook: [
    'select from webhook_inbox',
    'select from payments',
    'select from organizations',
    'update payments set polls = 0',
    'select from payment_differences',
    'update payment_differences set resolved_at = now()',
    'select remove_old_webhooks(1)',
    'select book_top_up(gen_random_uuid())',
    'select grant_welcome(gen_random_uuid(), gen_random_uuid())',
    'select book_refund(gen_random_uuid())',
    'select reverse_welcome(gen_random_uuid())',
  ],
  model_gateway_operator: [
    'select from payments',
    'select from webhook_inbox',
    'update payment_differences set resolved_at = now()',
    'select remove_old_webhooks(1)',
    'select book_top_up(gen_random_uuid())',
    'update organizations set low_balance_threshold_nano = 0',
    'update api_keys set owner_blocked_at = null',
    'update api_keys set admin_blocked_at = null',
    'select password_hash from users',
    'select from sessions',
    'insert into bonuses default values',
    'select from email_outbox',
    'insert into email_outbox (kind) values (null)',
    'update organizations set low_balance_noted_at = null',
    'select from org_account',
    'select from balance_ledger',
    'select from requests',
    'select from key_pepper',
    'update api_keys set projected_version = 9',
    'update api_key_credentials set projected_version = 9',
    "update model_providers set name = 'x'",
    "update model_routes set model = 'x/y'",
    'insert into gateway_replicas default values',
    'delete from gateway_replicas',
    'delete from cluster_epochs',
    "select post_batch('[]')",
    "select reject_charge(0::smallint, '', '', '', '')",
    'select ensure_partitions(1)',
    'select lift_catalogue_revision(9)',
    'select restamp_changes(1)',
  ],
  model_gateway_cabinet: [
    'insert into webhook_inbox default values',
    'select remove_old_webhooks(1)',
    'update webhook_inbox set processed_at = now()',
    'select from email_outbox',
    'update email_outbox set sent_at = now()',
    'delete from email_outbox',
    'update organizations set low_balance_noted_at = null',
    'select from model_providers',
    'select uid from cluster_resources',
    'insert into audit_log (at) values (now())',
    'select from key_pepper',
    'update api_keys set kubernetes_blocked_at = null',
    'update api_keys set managed_by = managed_by',
    "update organizations set name = 'x'",
    "update users set role = 'admin'",
    "update users set email = 'x@example.com'",
    'delete from users',
    "update consents set version = '0'",
    'delete from consents',
    "update memberships set role = 'owner'",
    'insert into bonuses default values',
    'update bonuses set amount = 1',
    "select post_credit(gen_random_uuid(), 'top_up', gen_random_uuid(), 1, now())",
    'insert into model_providers default values',
    'update model_routes set free = true',
    'delete from model_routes',
    'insert into cluster_resources default values',
    'select current_catalogue_revision()',
    "select post_batch('[]')",
    "select reject_charge(0::smallint, '', '', '', '')",
    'select ensure_partitions(1)',
    'select lift_catalogue_revision(9)',
    'select restamp_changes(1)',
  ],
}

describe('row-level security: the cabinet sees, of', () => {
  const pool = poolAs('model_gateway_cabinet', database)
  const owned = [
    ...[
      'organizations',
      'api_keys',
      'org_account',
      'balance_ledger',
      'ledger_hourly',
      'usage_hourly',
      'requests',
      'memberships',
    ],
    ...['bonuses', 'audit_log', 'api_key_credentials', 'key_daily_spend', 'payments', 'refunds'],
  ]

  test.each(owned)(
    '%s: only rows of the organization that it has named, and none if it named none',
    async (table) => {
      const [one, other] = [await filledCustomer(), await filledCustomer()]
      const count = (client: Queryable) => countOf(client, table)
      const seen = {
        byNobody: await count(pool),
        byNonsense: await inReadScope(pool, 'no id', count),
        byOne: await inReadScope(pool, one, count),
        byBoth: await inReadScope(pool, null, count),
      }
      expect([seen.byNobody, seen.byNonsense]).toEqual([0, 0])
      expect(seen.byOne).toBeGreaterThan(0)
      expect(seen.byBoth).toBeGreaterThanOrEqual(seen.byOne + (await inReadScope(pool, other, count)))
    },
  )

  test('nothing that belongs to another organization can be changed or added', async () => {
    const [one, other] = [await filledCustomer(), await filledCustomer()]
    const scope = { actor: { kind: 'job', name: 'test' }, organizationId: one } as const
    const rename = (id: string) =>
      inScope(pool, scope, (client) =>
        client.unaudited('update organizations set display_name = $2 where id = $1', [id, 'taken']),
      )
    expect([(await rename(other)).rowCount, (await rename(one)).rowCount]).toEqual([0, 1])
    const userId = await newUser()
    const added = inScope(pool, scope, (client) =>
      client.unaudited("insert into memberships (organization_id, user_id, role) values ($1, $2, 'owner')", [
        other,
        userId,
      ]),
    )
    await expect(added).rejects.toMatchObject({ code: '42501' })
  })
})

describe.each(Object.entries(refused))('%s may not', (role, ofItsOwn) => {
  const pool = poolAs(role, database)

  test.each([...refusedToAll, ...ofItsOwn])('%s', async (sql) => {
    await expect(pool.query(sql)).rejects.toMatchObject({ code: '42501' })
  })
})

describe.each(['model_gateway_cabinet', 'model_gateway_worker'])('%s, which settles payments,', (role) => {
  const pool = poolAs(role, database)
  const scope = { actor: { kind: 'job', name: 'test' }, organizationId: null } as const
  /** In one transaction, as somebody would who has taken the process over. */
  const tryAll = (statements: readonly string[], ids: readonly string[]) =>
    inScope(pool, scope, async (client) => {
      for (const sql of statements) {
        const used = ids.filter((_, index) => sql.includes(`$${index + 1}`))
        await client.unaudited(sql, used)
      }
    })
  const refused = { code: '23514' }
  const pay = `update payments set status = 'succeeded', succeeded_at = now(), provider_id = $1::uuid::text,
                 next_call_at = null where id = $1`
  const book = 'select book_top_up($1)'
  const refund = `insert into refunds (id, payment_id, organization_id, provider_id, amount, status)
                  select $2::uuid, id, organization_id, $2::uuid::text, amount, 'succeeded' from payments where id = $1`
  const giveBack = "update payments set status = 'refunded', refunded = amount where id = $1"
  const bookRefund = 'select book_refund($2) where $1::uuid is not null'

  test('calls no payment paid without its row in the ledger', async () => {
    const ids = [await newPayment(), randomUUID()]
    await expect(tryAll([pay], ids)).rejects.toMatchObject(refused)
    await expect(tryAll(['set constraints all immediate', pay, book], ids)).rejects.toMatchObject(refused)
    expect(await statusOf(ids)).toBe('pending')
    await tryAll([pay, book], ids)
    expect(await statusOf(ids)).toBe('succeeded')
  })

  test('calls nothing refunded without a refund and its row in the ledger', async () => {
    const ids = [await newPayment(), randomUUID()]
    await tryAll([pay, book], ids)
    for (const statements of [[giveBack], [refund], [refund, giveBack], [refund, bookRefund]])
      await expect(tryAll(statements, ids)).rejects.toMatchObject(refused)
    await tryAll([refund, giveBack, bookRefund], ids)
    expect(await statusOf(ids)).toBe('refunded')
    const takeBack = "update refunds set status = 'canceled' where id = $2 and $1::uuid is not null"
    await expect(tryAll([takeBack], ids)).rejects.toMatchObject(refused)
  })

  test('takes no status back, but of what was given up before the provider knew it', async () => {
    const ids = [await newPayment(), randomUUID()]
    const become = (status: string) =>
      `update payments set status = '${status}', succeeded_at = null where id = $1`
    await tryAll([become('canceled')], ids)
    await tryAll([become('pending')], ids)
    await tryAll([become('waiting_for_capture')], ids)
    await expect(tryAll([become('pending')], ids)).rejects.toMatchObject(refused)
    await tryAll([pay, book], ids)
    for (const status of ['pending', 'waiting_for_capture', 'canceled'])
      await expect(tryAll([become(status)], ids)).rejects.toMatchObject(refused)
  })

  async function newPayment(): Promise<string> {
    const { organizationId } = await createCustomer(database.pool)
    const id = randomUUID()
    await database.pool.query(
      'insert into payments (id, organization_id, user_id, amount) values ($1, $2, $3, 100)',
      [id, organizationId, await newUser()],
    )
    return id
  }

  async function statusOf([id]: readonly string[]): Promise<string> {
    const { rows } = await database.pool.query('select status from payments where id = $1', [id])
    return rows[0]?.status
  }
})

const worker = poolAs('model_gateway_worker', database)

test('a worker books charges, as one who may write no row of the ledger', async () => {
  const customer = await createCustomer(database.pool, { balanceNano: 1_000n })
  const { balances } = await postBatch(worker, [entryOf(customer, 7n)])
  expect(balances).toHaveLength(1)
})

test('a worker may look at the books, and audit all of them', async () => {
  expect(await auditBooksIfDue(worker)).toBe(true)
  expect((await lookAtBooks(worker))?.breaches.map(({ name }) => name)).toContain(
    'default_partitions_are_empty',
  )
})

test('nobody gives a trial to no mailbox: it would be no mailbox’s last', async () => {
  const { organizationId } = await createCustomer(database.pool)
  const given = database.pool.query('select grant_trial(gen_random_uuid(), $1, null)', [organizationId])
  await expect(given).rejects.toMatchObject({ code: '22004' })
})

/** An organization that has a row in everything that organizations own. */
async function filledCustomer(): Promise<string> {
  const customer = await createCustomer(database.pool, { balanceNano: 1_000n })
  const { organizationId } = customer
  await postBatch(database.pool, [entryOf(customer, 7n)])
  const userId = await newUser()
  await database.pool.query(
    `with paid as (insert into payments (id, organization_id, user_id, amount)
                   values (gen_random_uuid(), $1, $2, 1) returning id)
     insert into refunds (id, payment_id, organization_id, amount) select gen_random_uuid(), id, $1, 1 from paid`,
    [organizationId, userId],
  )
  await database.pool.query(
    `with one as (select grant_trial(gen_random_uuid(), $1, uuid_send($1)))
     insert into memberships (organization_id, user_id, role) select $1, $2, 'owner' from one`,
    [organizationId, userId],
  )
  return organizationId
}

async function newUser(): Promise<string> {
  const id = randomUUID()
  await database.pool.query(
    `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at)
     values ($1, $2, 'ru', 'x', now(), now())`,
    [id, `${id}@example.com`],
  )
  return id
}

async function countOf(client: Queryable, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return rows[0]?.count ?? 0
}
