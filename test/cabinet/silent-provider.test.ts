import { afterAll, expect, test, vi } from 'vitest'
import { startTill } from '#standalone/yookassa/start-till'
import { makePayer, type Payer, postAs } from '../support/payer.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { administrationOfThisFile, startTestWeb } from '../support/web.ts'

const stack = await stackOfThisFile()
const { pool } = stack.database
const till = await startTill(testShop)
const drive = driveTill(till.url)
const shopEnv = shopSettingsOf(till)
await stack.startWorker(shopEnv)
const web = await startTestWeb(stack.database, { ...shopEnv, TRUSTED_PROXY_CIDRS: '127.0.0.0/8' })
const administration = await administrationOfThisFile(stack.database, {
  ...shopEnv,
  TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
})
afterAll(async () => {
  await web[Symbol.asyncDispose]()
  await till.stop()
})

const post = (payer: Payer, path: string, body?: object) => postAs(web, payer, path, body)

async function begin(payer: Payer) {
  const { body } = await post(payer, '/payments', { amount_rub: '100' })
  const { rows } = await pool.query('select provider_id from payments where id = $1', [body.id])
  return { id: body.id as string, providerId: rows[0]?.provider_id as string }
}

async function timed<Answer>(answer: Promise<Answer>) {
  const begunAt = performance.now()
  return { ...(await answer), tookMs: performance.now() - begunAt }
}

test('no caller waits more than 10 s for a silent provider, and a worker finds out what came of it', async () => {
  const payer = await makePayer(pool)
  const administrator = await signedInAdministrator(pool)
  const [open, paid] = [await begin(payer), await begin(payer)]
  await drive.pay(paid.providerId)
  expect((await post(payer, `/payments/${paid.id}/refresh`)).body).toMatchObject({ status: 'succeeded' })
  for (const on of ['create_payment', 'get_payment', 'create_refund'] as const)
    await drive.misbehave({ on, answer: 'silence' })

  const [created, refreshed, refunded] = await Promise.all([
    timed(post(payer, '/payments', { amount_rub: '200' })),
    timed(post(payer, `/payments/${open.id}/refresh`)),
    timed(
      postAs(administration, administrator, `/admin/payments/${paid.id}/refunds`, { reason: 'asked for' }),
    ),
  ])
  // Without an address to pay at, unless a worker was quicker than our answer.
  expect(created).toMatchObject({ status: 201, body: { status: 'pending' } })
  expect(refreshed).toMatchObject({ status: 503, body: { code: 'payments_unavailable' } })
  expect(refunded).toMatchObject({
    status: 201,
    body: { status: expect.stringMatching(/^(?:pending|succeeded)$/) },
  })
  for (const { tookMs } of [created, refreshed, refunded]) expect(tookMs).toBeLessThan(10_000)

  await vi.waitFor(
    async () => {
      const { body } = await web.call('GET', `/payments/${created.body.id}`, { cookie: payer.cookie })
      expect(body).toMatchObject({ status: 'pending', confirmation_url: expect.stringContaining('http') })
      const { rows } = await pool.query('select status from refunds where id = $1', [refunded.body.id])
      expect(rows).toEqual([{ status: 'succeeded' }])
    },
    { timeout: 10_000, interval: 100 },
  )
  expect((await post(payer, `/payments/${open.id}/refresh`)).status).toBe(200)
  const { payments, refunds } = await drive.journal()
  expect(payments.filter(({ metadata }) => metadata?.payment_id === created.body.id)).toHaveLength(1)
  expect(refunds).toHaveLength(1)
}, 30_000)

test('eight notifications that the provider answers nothing about hold up no credit of others', async () => {
  const [stuck, other] = [await makePayer(pool), await makePayer(pool)]
  const silent = await Promise.all(Array.from({ length: 8 }, () => begin(stuck)))
  const paid = await begin(other)
  await drive.misbehave({ on: 'get_payment', answer: 'silence', times: silent.length })
  const notify = (providerId: string) =>
    pool.query(
      `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', 'payment.succeeded', $1, '{}')`,
      [providerId],
    )
  for (const { providerId } of silent) await notify(providerId)
  await vi.waitFor(async () => {
    const { rows } = await pool.query(
      'select count(*)::int as taken from webhook_inbox where object_id = any ($1) and attempts > 0',
      [silent.map(({ providerId }) => providerId)],
    )
    expect(rows).toEqual([{ taken: silent.length }])
  })
  await drive.pay(paid.providerId, 'lost')
  const paidAt = performance.now()
  await notify(paid.providerId)
  await vi.waitFor(
    async () => {
      const { rows } = await pool.query('select status from payments where id = $1', [paid.id])
      expect(rows).toEqual([{ status: 'succeeded' }])
    },
    { timeout: 10_000, interval: 20 },
  )
  expect(performance.now() - paidAt).toBeLessThan(5_000)
}, 30_000)
