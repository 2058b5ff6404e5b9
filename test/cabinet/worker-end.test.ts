import { randomBytes } from 'node:crypto'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { enqueueLetter } from '#cabinet/mail/outbox'
import { startTill } from '#standalone/yookassa/start-till'
import { makePayer, postAs } from '../support/payer.ts'
import { poolAs, urlAs } from '../support/postgres.ts'
import { untilReady } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { smtpOfThisFile } from '../support/smtp.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { startTestWeb } from '../support/web.ts'

const stack = await stackOfThisFile()
const { pool } = stack.database
const cabinet = poolAs('model_gateway_cabinet', stack.database)
const smtp = await smtpOfThisFile()
const till = await startTill(testShop)
const drive = driveTill(till.url)
const shopEnv = shopSettingsOf(till)
const web = await startTestWeb(stack.database, { ...shopEnv, TRUSTED_PROXY_CIDRS: '127.0.0.0/8' })
afterAll(async () => {
  await web[Symbol.asyncDispose]()
  await till.stop()
})

const settings = { ...smtp.env, ...shopEnv }
/** Below the grace period of any pod, and of a person at a terminal. */
const endMsMax = 10_000

async function writeLetter(): Promise<string> {
  const recipient = `reader-${randomBytes(6).toString('hex')}@example.com`
  await inTestScope(cabinet, (client) =>
    enqueueLetter(client, { kind: 'totp_enabled', vars: {}, recipient, locale: 'en' }),
  )
  return recipient
}

/** What a payer has begun to pay, and the provider then answers nothing about. */
async function paidInSilence(): Promise<string> {
  const payer = await makePayer(pool)
  const { body } = await postAs(web, payer, '/payments', { amount_rub: '100' })
  const { rows } = await pool.query('select provider_id from payments where id = $1', [body.id])
  const providerId = rows[0]?.provider_id as string
  await drive.pay(providerId, 'lost')
  await drive.misbehave({ on: 'get_payment', answer: 'silence' })
  await pool.query(
    `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', 'payment.succeeded', $1, '{}')`,
    [providerId],
  )
  await vi.waitFor(async () => {
    const taken = 'select from webhook_inbox where object_id = $1 and attempts > 0'
    expect((await pool.query(taken, [providerId])).rowCount).toBe(1)
  })
  return body.id as string
}

test('a worker that waits for a silent mail server and a silent provider ends within 10 s, and the next one does what it left', async () => {
  const worker = await stack.startWorker(settings)
  await untilReady(worker)
  const stalled = await writeLetter()
  smtp.script(stalled, 'stall')
  await smtp.untilLetter(stalled)
  smtp.greet('never')
  onTestFinished(() => smtp.greet('at once'))
  const ungreeted = await writeLetter()
  await vi.waitFor(async () => {
    const taken = 'select from email_outbox where recipient = $1 and attempts > 0'
    expect((await pool.query(taken, [ungreeted])).rowCount).toBe(1)
  })
  const payment = await paidInSilence()

  const stoppedAtMs = performance.now()
  await worker.stop()
  expect(performance.now() - stoppedAtMs).toBeLessThan(endMsMax)
  expect(worker.exitCode()).toBe(0)

  smtp.greet('at once')
  smtp.script(stalled, undefined)
  const next = await stack.startWorker(settings)
  onTestFinished(() => next.kill())
  await vi.waitFor(
    async () => {
      const sent = 'select from email_outbox where recipient = any ($1) and sent_at is not null'
      expect((await pool.query(sent, [[stalled, ungreeted]])).rowCount).toBe(2)
      const { rows } = await pool.query('select status from payments where id = $1', [payment])
      expect(rows).toEqual([{ status: 'succeeded' }])
    },
    { timeout: 20_000, interval: 50 },
  )
  // As after a crash: the server had the whole email, and the second copy carries the same Message-ID.
  const copies = smtp.letters(stalled).map(({ messageId }) => messageId)
  expect(copies).toEqual(Array(2).fill(copies[0]))
  expect(smtp.letters(ungreeted)).toHaveLength(1)
  const credits = `select from balance_ledger where ref_id = $1 and kind = 'top_up'`
  expect((await pool.query(credits, [payment])).rowCount).toBe(1)
}, 90_000)

test('a worker whose mail server is only slow sends the email before it ends', async () => {
  const worker = await stack.startWorker(settings)
  await untilReady(worker)
  const recipient = await writeLetter()
  smtp.script(recipient, { answerAfterMs: 1_500 })
  await smtp.untilLetter(recipient)
  await worker.stop()
  const sent = 'select from email_outbox where recipient = $1 and sent_at is not null'
  expect((await pool.query(sent, [recipient])).rowCount).toBe(1)
  expect(smtp.letters(recipient)).toHaveLength(1)
})

test('a worker whose Postgres no longer responds ends within 10 s', async () => {
  const databaseUrl = new URL(urlAs('model_gateway_worker', stack.database.url))
  const gate = await gateOfThisTest(Number(databaseUrl.port))
  databaseUrl.host = `127.0.0.1:${gate.port}`
  const worker = await stack.startWorker({ ...settings, DATABASE_URL: databaseUrl.href })
  await untilReady(worker)
  gate.holdAnswers()
  const stoppedAtMs = performance.now()
  await worker.stop()
  expect(performance.now() - stoppedAtMs).toBeLessThan(endMsMax)
  expect(worker.exitCode()).toBe(0)
}, 90_000)
