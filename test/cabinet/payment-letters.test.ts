import { randomUUID } from 'node:crypto'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { startTill } from '#standalone/yookassa/start-till'
import { makePayer, type Payer, postAs } from '../support/payer.ts'
import { urlAs } from '../support/postgres.ts'
import { startProcess } from '../support/processes.ts'
import { signedIn } from '../support/signed-in.ts'
import { smtpOfThisFile } from '../support/smtp.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { startTestWeb } from '../support/web.ts'

// Real processes: a receiver and two workers, of which each may settle, as the web process may.
const listed = '127.0.0.2'
const secret = 'secret-of-the-webhook-in-these-tests'
const stack = await stackOfThisFile()
const smtp = await smtpOfThisFile()
const { pool } = stack.database
const till = await startTill({ ...testShop, notifyFrom: listed })
const drive = driveTill(till.url)
const shopEnv = shopSettingsOf(till)
const receiver = await startProcess('cabinet/webhook/main.ts', {
  DATABASE_URL: urlAs('model_gateway_webhook', stack.database.url),
  WEBHOOK_SECRET: secret,
  WEBHOOK_ALLOWED_CIDRS: listed,
  WEBHOOK_HOST: '127.0.0.1',
  WEBHOOK_PORT: '0',
  WEBHOOK_ADMIN_PORT: '0',
})
await Promise.all([1, 2].map(() => stack.startWorker({ ...shopEnv, ...smtp.env })))
const web = await startTestWeb(stack.database, {
  ...shopEnv,
  TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
  TOP_UP_MAX_RUB: '400000',
})
afterAll(async () => {
  await receiver.kill()
  await web[Symbol.asyncDispose]()
  await till.stop()
})

beforeEach(() =>
  drive.set({
    notifyUrl: `${new URL(receiver.baseUrl).origin}/webhooks/yookassa?secret=${secret}`,
    notifications: 'sent',
    copies: 20,
  }),
)

const addressOf = ({ userId }: Payer) => `${userId}@example.com`

/** An organization with an owner of each language, and members who get no email. */
async function makeOrganization() {
  const english = await makePayer(pool)
  const { organizationId } = english
  const russian = await signedIn(pool, { organizationId })
  await pool.query("update users set locale = 'ru' where id = $1", [russian.userId])
  await pool.query("update organizations set display_name = 'Рога & Co' where id = $1", [organizationId])
  const others = await Promise.all([
    signedIn(pool, { organizationId, memberRole: 'developer' }),
    signedIn(pool, { organizationId, memberRole: 'accountant' }),
    signedIn(pool, { organizationId, isConfirmed: false }),
  ])
  return { english, russian, others }
}

async function begin(payer: Payer, amount: string) {
  const { body } = await postAs(web, payer, '/payments', { amount_rub: amount })
  const { rows } = await pool.query('select provider_id from payments where id = $1', [body.id])
  return { id: body.id as string, providerId: rows[0]?.provider_id as string }
}

/** All notifications have been processed and all emails sent. Nothing comes after this. */
async function untilQuiet(): Promise<void> {
  await vi.waitFor(
    async () => {
      const { notifications } = await drive.journal()
      expect(notifications.filter(({ state }) => state === 'waiting')).toEqual([])
      const { rows } = await pool.query(
        `select (select count(*) from webhook_inbox where processed_at is null)::int as notifications,
                (select count(*) from email_outbox where sent_at is null)::int as letters`,
      )
      expect(rows).toEqual([{ notifications: 0, letters: 0 }])
    },
    { timeout: 20_000, interval: 50 },
  )
}

const kindsTo = (payer: Payer) => smtp.letters(addressOf(payer)).map(({ kind }) => kind)

test('each owner hears once, in his language, what was credited and given back, however often it is notified', async () => {
  const { english, russian, others } = await makeOrganization()
  const { providerId } = await begin(english, '1000')
  await drive.pay(providerId)
  await smtp.untilLetter(addressOf(russian), 'payment_credited')
  await untilQuiet()
  await drive.refund(providerId, '0.01')
  await vi.waitFor(() => expect(kindsTo(russian)).toHaveLength(2), 10_000)
  await untilQuiet()
  await drive.refund(providerId)
  await vi.waitFor(() => expect(kindsTo(russian)).toHaveLength(3), 10_000)
  await untilQuiet()

  for (const owner of [english, russian])
    expect(kindsTo(owner)).toEqual(['payment_credited', 'payment_refunded', 'payment_refunded'])
  for (const other of others) expect(kindsTo(other)).toEqual([])
  const [credited, part, rest] = smtp.letters(addressOf(english)).map(({ text }) => text)
  for (const words of ['₽1,000.00', 'Рога & Co', 'bonus of ₽150.00', 'now ₽1,150.00'])
    expect(credited).toContain(words)
  for (const words of ['payment of ₽1,000.00', 'refunded ₽0.01', 'bonus of ₽150.00', 'now ₽999.99'])
    expect(part).toContain(words)
  for (const words of ['payment of ₽1,000.00', 'refunded ₽999.99', 'now ₽0.00', 'do not work'])
    expect(rest).toContain(words)
  expect(rest).not.toContain('bonus')
  const [inRussian] = smtp.letters(addressOf(russian))
  expect(inRussian?.subject).toBe('Баланс пополнен на 1\u00a0000,00\u00a0₽')
  expect(inRussian?.text).toContain('бонус: 150,00\u00a0₽')
})

test('the web process emails users who return from the payment page, and no worker emails again', async () => {
  const { english } = await makeOrganization()
  const { id, providerId } = await begin(english, '100')
  await drive.pay(providerId, 'lost')
  expect((await postAs(web, english, `/payments/${id}/refresh`)).body).toMatchObject({ status: 'succeeded' })
  await pool.query('update payments set next_poll_at = now() where id = $1', [id])
  await smtp.untilLetter(addressOf(english), 'payment_credited')
  await untilQuiet()
  expect(kindsTo(english)).toEqual(['payment_credited'])
  expect(smtp.letters(addressOf(english))[0]?.text).not.toContain('bonus')
})

test('a payment first seen after its refund gets both emails', async () => {
  const { english } = await makeOrganization()
  const { id, providerId } = await begin(english, '1000')
  await drive.set({ notifications: 'lost' })
  await drive.pay(providerId, 'lost')
  await drive.refund(providerId)
  await postAs(web, english, `/payments/${id}/refresh`)
  await smtp.untilLetter(addressOf(english), 'payment_refunded')
  await untilQuiet()
  expect(kindsTo(english).toSorted()).toEqual(['payment_credited', 'payment_refunded'])
  expect(
    smtp.letters(addressOf(english)).filter(({ text }) => text.includes('bonus of ₽150.00')),
  ).toHaveLength(2)
})

test('owners hear once why a payment came to nothing', async () => {
  const { english, russian, others } = await makeOrganization()
  const { providerId } = await begin(english, '100')
  await drive.decline(providerId, 'insufficient_funds')
  await smtp.untilLetter(addressOf(russian), 'payment_canceled')
  await untilQuiet()
  for (const owner of [english, russian]) expect(kindsTo(owner)).toEqual(['payment_canceled'])
  for (const other of others) expect(kindsTo(other)).toEqual([])
  expect(smtp.letters(addressOf(english))[0]?.text).toContain('insufficient funds')
  expect(smtp.letters(addressOf(russian))[0]?.text).toContain('не хватило денег')
})

test('owners hear once of a payment that the provider has refused to make', async () => {
  const { english } = await makeOrganization()
  const key = randomUUID()
  const tooMuch = { amount_rub: '350001' } // for the provider
  for (const _ of [1, 2]) {
    const { body } = await postAs(web, english, '/payments', tooMuch, key)
    expect(body).toMatchObject({ status: 'canceled' })
  }
  const letter = await smtp.untilLetter(addressOf(english), 'payment_canceled')
  expect(letter.text).toContain('₽350,001.00')
  expect(letter.text).toContain('did not accept it')
  await untilQuiet()
  expect(kindsTo(english)).toEqual(['payment_canceled'])
})
