import { randomUUID } from 'node:crypto'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { paymentBody } from '#cabinet/payments/internal/call-body'
import { formatRub, nanoRub } from '#core/ledger/money'
import { startTill } from '#standalone/yookassa/start-till'
import { makePayer } from '../support/payer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { administrationOfThisFile } from '../support/web.ts'

// No worker and no receiver: what is posted here, administration has posted.
const database = await databaseOfThisFile()
const { pool } = database
const till = await startTill(testShop)
const drive = driveTill(till.url)
afterAll(() => till.stop())
const administration = await administrationOfThisFile(database, shopSettingsOf(till))
const unconfigured = await administrationOfThisFile(database)
beforeEach(() => drive.behave())

/** A payment whose call was recorded and never made, and an administrator who can ask about it. */
async function made(rubles: bigint) {
  const payer = await makePayer(pool)
  const { administratorId, cookie } = await signedInAdministrator(pool)
  const amount = nanoRub(rubles * 1_000_000_000n)
  const id = randomUUID()
  const email = `${payer.userId}@example.com`
  const returnUrl = 'https://cabinet.example/back'
  await pool.query(
    `insert into payments (id, organization_id, user_id, amount, address_hash, call_body, next_call_at)
     values ($1, $2, $3, $4, sha256($3::uuid::text::bytea), $5, clock_timestamp())`,
    [
      id,
      payer.organizationId,
      payer.userId,
      amount,
      paymentBody({ id, amount, email, receipt: undefined, returnUrl }),
    ],
  )
  return {
    id,
    administratorId,
    cookie,
    organizationId: payer.organizationId,
    ask: (at = administration) => at.call('POST', `/admin/payments/${id}/refresh`, { cookie }),
    async ledger(): Promise<readonly string[]> {
      const { rows } = await pool.query(
        'select kind, amount from balance_ledger where organization_id = $1 order by seq',
        [payer.organizationId],
      )
      return rows.map((row) => `${row.kind} ${formatRub(nanoRub(row.amount))}`)
    },
    async audited() {
      const { rows } = await pool.query(
        `select actor_id, organization_id, before, after from audit_log
          where action = 'payment.refresh' and subject_kind = 'Payment' and subject_id = $1 order by id`,
        [id],
      )
      return rows
    },
  }
}

/** The same, made at the provider and paid there; no notification comes. */
async function paid(rubles: bigint) {
  const payment = await made(rubles)
  expect((await payment.ask()).body).toMatchObject({ outcome: 'changed', payment: { status: 'pending' } })
  const { rows } = await pool.query('select provider_id from payments where id = $1', [payment.id])
  const providerId: string = rows[0]?.provider_id
  await drive.pay(providerId, 'lost')
  return { ...payment, providerId }
}

test('a paid payment without a notification is credited when an administrator asks, and the audit log has who did', async () => {
  const { id, organizationId, administratorId, ask, ledger, audited } = await paid(1_000n)
  expect(await ledger()).toEqual([])
  const { status, body } = await ask()
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { outcome: 'changed', payment: { id, organization_id: organizationId, status: 'succeeded' } },
  })
  expect(await ledger()).toEqual(['top_up 1000', 'welcome 150'])
  expect((await audited()).at(-1)).toEqual({
    actor_id: administratorId,
    organization_id: organizationId,
    before: { status: 'pending', refundedRub: '0' },
    after: { status: 'succeeded', refundedRub: '0', outcome: 'changed' },
  })
})

test('asked ten times at once, it is credited once', async () => {
  const { ask, ledger, audited } = await paid(200n)
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask()))
  for (const { status, body } of answers) expect([status, body.payment.status]).toEqual([200, 'succeeded'])
  expect(await ledger()).toEqual(['top_up 200'])
  expect(await audited()).toHaveLength(11)
})

test('a payment that was credited before is unchanged', async () => {
  const { ask, ledger } = await paid(200n)
  await ask()
  expect(await ask()).toMatchObject({ status: 200, body: { outcome: 'unchanged' } })
  expect(await ledger()).toEqual(['top_up 200'])
})

test('a refund made in the console of the provider is taken back', async () => {
  const { ask, ledger, providerId } = await paid(200n)
  await ask()
  await drive.refund(providerId, '50.00')
  expect((await ask()).body).toMatchObject({
    outcome: 'changed',
    payment: { status: 'partially_refunded', refunded_rub: '50' },
  })
  expect(await ledger()).toEqual(['top_up 200', 'refund -50'])
})

test('while the provider fails, nothing is posted and the attempt is in the audit log', async () => {
  const { ask, ledger, audited } = await paid(200n)
  await drive.misbehave({ on: 'get_payment', answer: 'internal_error' })
  expect(await ask()).toMatchObject({ status: 503, body: { code: 'payments_unavailable' } })
  expect(await ledger()).toEqual([])
  expect((await audited()).at(-1)).toMatchObject({ after: { status: 'pending', outcome: 'unavailable' } })
})

test('a payment that the provider never made is not_found, and one that it does not answer about is unavailable', async () => {
  const { id, ask } = await made(200n)
  await drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'not_done' })
  expect(await ask()).toMatchObject({ status: 503, body: { code: 'payments_unavailable' } })
  await pool.query(
    "update payments set status = 'canceled', call_body = null, next_call_at = null where id = $1",
    [id],
  )
  expect((await ask()).body).toMatchObject({ outcome: 'not_found', payment: { status: 'canceled' } })

  const other = await made(200n)
  await pool.query(
    'update payments set provider_id = $1, call_body = null, next_call_at = null where id = $2',
    [`unknown-${other.id}`, other.id],
  )
  expect((await other.ask()).body).toMatchObject({ outcome: 'not_found', payment: { status: 'pending' } })
})

test('a payment that differs at the provider is put aside, and not credited', async () => {
  const { id, ask, ledger } = await paid(200n)
  await pool.query('alter table payments disable trigger user')
  await pool.query('update payments set amount = amount + 10000000 where id = $1', [id])
  await pool.query('alter table payments enable trigger user')
  expect(await ask()).toMatchObject({ status: 200, body: { outcome: 'different' } })
  expect(await ledger()).toEqual([])
  const { rows } = await pool.query('select kind from payment_differences where payment_id = $1', [id])
  expect(rows).toEqual([{ kind: 'amount' }])
})

test('nothing is asked about a payment that does not exist, or without a shop', async () => {
  const { cookie, ask, audited } = await made(200n)
  for (const id of [randomUUID(), 'x'])
    expect((await administration.call('POST', `/admin/payments/${id}/refresh`, { cookie })).status).toBe(404)
  expect(await ask(unconfigured)).toMatchObject({ status: 503, body: { code: 'payments_unavailable' } })
  expect(await audited()).toEqual([])
})
