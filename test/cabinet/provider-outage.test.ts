import { randomUUID } from 'node:crypto'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { moneyInOfThisFile, readPaymentStates, wakeWorkers } from '../support/money-in.ts'
import { makePayer, type Payer } from '../support/payer.ts'
import { readMetric } from '../support/read-metric.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile, startTestWeb } from '../support/web.ts'

const { stack, drive, shopEnv, lines, workers } = await moneyInOfThisFile()
const { pool } = stack.database
await drive.set({ notifications: 'lost' })
// The comparison at their start would find out what calls have made.
const compared = 'job_last_success_timestamp_seconds{job="payment_comparison"}'
for (const worker of workers)
  await vi.waitFor(async () => expect(await readMetric(worker, compared)).toBeGreaterThan(0))

beforeEach(() => drive.behave())

const administration = await administrationOfThisFile(stack.database, shopEnv)
const reason = 'asked for by the customer'

/** A user who pays, an administrator, and the processes of both. */
async function makePeople() {
  const web = await startTestWeb(stack.database, shopEnv)
  onTestFinished(() => web[Symbol.asyncDispose]())
  const payer = await makePayer(stack.database.pool)
  const administrator = await signedInAdministrator(stack.database.pool)
  const post = (person: Pick<Payer, 'cookie'>, path: string, body: object = {}) =>
    (path.startsWith('/admin/') ? administration : web).call('POST', path, {
      cookie: person.cookie,
      body,
      headers: { 'idempotency-key': randomUUID() },
    })
  const begin = async (amount: string): Promise<string> => {
    const { status, body } = await post(payer, '/payments', { amount_rub: amount })
    expect({ status, body }).toMatchObject({ status: 201, body: { status: 'pending' } })
    return body.id
  }
  const refresh = (id: string) => post(payer, `/payments/${id}/refresh`)
  return {
    begin,
    refresh,
    /** One that has been paid. */
    async topUp(amount: string): Promise<string> {
      const id = await begin(amount)
      await drive.pay(await idAtTill(id))
      expect((await refresh(id)).body).toMatchObject({ status: 'succeeded' })
      return id
    },
    async giveBack(paymentId: string): Promise<string> {
      const { status, body } = await post(administrator, `/admin/payments/${paymentId}/refunds`, { reason })
      expect({ status, body }).toMatchObject({ status: 201, body: { status: 'pending' } })
      return body.id
    },
  }
}

async function stateOf(id: string) {
  return (await readPaymentStates(stack, [id])).get(id)
}

/** What the test payment provider created for our payment or refund, and how it responded. */
async function madeFor(id: string) {
  const { payments, refunds, requests } = await drive.journal()
  return {
    ids: [
      ...payments.filter(({ metadata }) => metadata.payment_id === id),
      ...refunds.filter(({ metadata }) => metadata.refund_id === id),
    ].map((made) => made.id),
    answers: requests.filter(({ idempotenceKey }) => idempotenceKey === id).map(({ status }) => status),
  }
}

async function idAtTill(id: string): Promise<string> {
  const { ids } = await madeFor(id)
  expect(ids).toHaveLength(1)
  return ids[0] ?? ''
}

/** Of the payment or refund as we know it. */
async function knownId(table: 'payments' | 'refunds', id: string): Promise<string | null> {
  const { rows } = await pool.query(`select provider_id from ${table} where id = $1`, [id])
  return rows[0]?.provider_id
}

/** A minute passes, here and at the test payment provider. */
async function passMinute(): Promise<void> {
  await drive.moveClock({ forwardMs: 60_000 })
  const earlier = (column: string) => `${column} = ${column} - interval '1 minute'`
  await pool.query(`update payments set ${['created_at', 'next_call_at', 'next_poll_at'].map(earlier)}`)
  await pool.query(`update refunds set ${['created_at', 'next_call_at'].map(earlier)}`)
  await pool.query(wakeWorkers)
}

/** What workers have logged about a call of unknown outcome. */
const unknownOutcomes = (id: string) =>
  lines.filter((line) => line.includes('outcome of a call is unknown') && line.includes(id)).length

test('a provider that carries out requests but returns 500 for an hour has one payment and one refund, as we do', async () => {
  const { begin, topUp, giveBack } = await makePeople()
  const earlier = await topUp('300')
  for (const on of ['create_payment', 'create_refund'] as const)
    await drive.misbehave({ on, answer: 'internal_error', work: 'done', times: null })
  const [unpaid, paid, refund] = [await begin('100'), await begin('200'), await giveBack(earlier)]
  const calls = [unpaid, paid, refund]
  for (let minute = 1; minute <= 60; minute++) {
    await passMinute()
    // Once a minute: neither less nor more.
    // Workers also made the first call of each payment, and administration that of the refund.
    const expected = [minute + 1, minute + 1, minute]
    await vi.waitFor(() => expect(calls.map(unknownOutcomes)).toEqual(expected))
    if (minute === 30) await drive.pay(await idAtTill(paid))
  }
  await drive.behave()
  await passMinute()
  for (const id of calls) {
    const table = id === refund ? 'refunds' : 'payments'
    await vi.waitFor(async () => expect(await knownId(table, id)).not.toBeNull())
    const { ids, answers } = await madeFor(id)
    expect(ids).toEqual([await knownId(table, id)])
    expect(answers).toEqual([...Array.from({ length: 61 }, () => 500), 200])
  }
  // The answer to a key is the first one: what became of it since then is asked a minute later.
  await passMinute()
  await vi.waitFor(async () => expect(await stateOf(paid)).toMatchObject({ status: 'succeeded' }))
  await vi.waitFor(async () => expect(await stateOf(unpaid)).toMatchObject({ status: 'canceled' }))
  const { rows } = await pool.query('select cancellation_reason as reason from payments where id = $1', [
    unpaid,
  ])
  expect(rows).toEqual([{ reason: 'expired_on_confirmation' }])
  expect(await stateOf(earlier)).toMatchObject({
    status: 'refunded',
    entries: ['refund -300', 'top_up 200', 'top_up 300'],
  })
})

test('calls that were carried out and never answered make one payment and one refund', async () => {
  const { begin, refresh, topUp, giveBack } = await makePeople()
  const earlier = await topUp('300')
  // A hundred times sooner than in production, because the test payment provider sends no notifications.
  const { timeout } = AbortSignal
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout.call(AbortSignal, ms / 100))
  onTestFinished(() => spy.mockRestore())
  for (const on of ['create_payment', 'create_refund'] as const)
    await drive.misbehave({ on, answer: 'silence', work: 'done' })
  const [payment, refund] = [await begin('100'), await giveBack(earlier)]
  expect([await knownId('payments', payment), await knownId('refunds', refund)]).toEqual([null, null])
  await passMinute()
  for (const id of [payment, refund]) {
    const table = id === refund ? 'refunds' : 'payments'
    await vi.waitFor(async () => expect(await knownId(table, id)).not.toBeNull())
    expect(await madeFor(id)).toEqual({ ids: [await knownId(table, id)], answers: [0, 200] })
  }
  await drive.pay(await idAtTill(payment))
  expect((await refresh(payment)).body).toMatchObject({ status: 'succeeded' })
  expect(await stateOf(payment)).toMatchObject({ entries: ['refund -300', 'top_up 100', 'top_up 300'] })
})

test('a worker that starts while the provider is down is ready', async () => {
  await drive.misbehave({ on: 'list_payments', answer: 'internal_error', times: null })
  const worker = await stack.startWorker(shopEnv)
  onTestFinished(() => worker.kill())
  const failed = 'job_errors_total{job="payment_comparison"}'
  await vi.waitFor(async () => expect(await readMetric(worker, failed)).toBeGreaterThan(0))
  await vi.waitFor(async () => expect((await fetch(`${worker.adminUrl}/readyz`)).status).toBe(200))
})
