import { randomBytes, randomUUID } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { type Customer, entryOf } from '../support/customer.ts'
import { readMetric } from '../support/read-metric.ts'
import { inTestScope } from '../support/scope.ts'
import { smtpOfThisFile } from '../support/smtp.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const smtp = await smtpOfThisFile()
const { pool } = stack.database

const rub = 1_000_000_000n

async function join(
  { organizationId }: Customer,
  { role = 'owner', locale = 'en', isConfirmed = true } = {},
): Promise<string> {
  const email = `member-${randomBytes(6).toString('hex')}@example.com`
  const id = randomUUID()
  await pool.query(
    `insert into users (id, email, locale, email_confirmed_at, password_hash, accepted_offer_at, accepted_pdn_at)
     values ($1, $2, $3, $4, 'none', now(), now())`,
    [id, email, locale, isConfirmed ? new Date() : null],
  )
  await pool.query('insert into memberships (organization_id, user_id, role) values ($1, $2, $3)', [
    organizationId,
    id,
    role,
  ])
  return email
}

const setThreshold = ({ organizationId }: Customer, nano: bigint | null) =>
  pool.query('update organizations set low_balance_threshold_nano = $2 where id = $1', [organizationId, nano])

const spend = (customer: Customer, nano: bigint) => postBatch(pool, [entryOf(customer, nano)])

/** A credit hints the worker, as every one does. */
const topUp = ({ organizationId }: Customer, nano: bigint) =>
  inTestScope(pool, (client) =>
    credit(client, { organizationId, kind: 'top_up', refId: randomUUID(), amount: nanoRub(nano) }),
  )

async function untilLetters(recipient: string, count: number): Promise<void> {
  await vi.waitFor(() => expect(smtp.letters(recipient)).toHaveLength(count))
}

async function startWorker() {
  const worker = await stack.startWorker(smtp.env)
  onTestFinished(() => worker.kill())
  return worker
}

test('owners with a confirmed address hear of a balance below the threshold once, and again after a top-up', async () => {
  const customer = await stack.createCustomer({ balanceNano: 100n * rub })
  const [owner, second] = [await join(customer), await join(customer, { locale: 'ru' })]
  const others = [await join(customer, { role: 'developer' }), await join(customer, { isConfirmed: false })]
  await setThreshold(customer, 50n * rub)
  await Promise.all([startWorker(), startWorker()])
  await spend(customer, 60n * rub)
  const bystander = await stack.createCustomer() // a credit: the workers look now
  await untilLetters(owner, 1)
  await untilLetters(second, 1)
  expect(smtp.letters(owner)[0]).toMatchObject({
    kind: 'low_balance',
    subject: expect.stringContaining('is below ₽50.00'),
    text: expect.stringContaining('is ₽40.00'),
  })
  expect(smtp.letters(second)[0]?.text).toContain('40,00\u00a0₽')

  await spend(customer, 1n * rub)
  await topUp(customer, 5n * rub) // still below
  await topUp(customer, 6n * rub) // 50: back
  await vi.waitFor(async () => {
    const { rows } = await pool.query('select low_balance_noted_at as at from organizations where id = $1', [
      customer.organizationId,
    ])
    expect(rows).toEqual([{ at: null }])
  })
  expect(smtp.letters(owner)).toHaveLength(1)
  await spend(customer, 1n)
  await topUp(bystander, 1n)
  await untilLetters(owner, 2)
  await untilLetters(second, 2)
  expect(smtp.letters(owner)[1]?.text).toContain('is ₽49.99')
  for (const other of others) expect(smtp.letters(other)).toEqual([])
})

test('without a threshold no email is sent, and a lower threshold resets the warning', async () => {
  const customer = await stack.createCustomer({ balanceNano: 10n * rub })
  const owner = await join(customer)
  const worker = await startWorker()
  await setThreshold(customer, 20n * rub)
  await topUp(customer, 1n * rub)
  await untilLetters(owner, 1)
  await setThreshold(customer, 5n * rub)
  await topUp(customer, 1n * rub)
  await vi.waitFor(async () => {
    const { rows } = await pool.query('select low_balance_noted_at as at from organizations where id = $1', [
      customer.organizationId,
    ])
    expect(rows).toEqual([{ at: null }])
  })
  await spend(customer, 8n * rub)
  await topUp(customer, 1n)
  await untilLetters(owner, 2)
  await setThreshold(customer, null)
  await spend(customer, 100n * rub)
  const other = await stack.createCustomer({ balanceNano: 10n * rub })
  const witness = await join(other)
  await setThreshold(other, 20n * rub)
  await topUp(other, 1n)
  await untilLetters(witness, 1) // all other emails have been written by then
  expect(smtp.letters(owner)).toHaveLength(2)
  expect(await readMetric(worker, 'job_errors_total{job="low_balance"}')).toBe(0)
})
