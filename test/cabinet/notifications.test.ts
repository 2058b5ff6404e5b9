import { expect, test, vi } from 'vitest'
import { paymentBody } from '#cabinet/payments/internal/call-body'
import { openShop } from '#cabinet/payments/shop'
import { checkInvariants } from '#core/ledger/invariants'
import { nanoRub } from '#core/ledger/money'
import type { Journal } from '#standalone/yookassa/control-contracts'
import { compareAll } from '../support/compare-all.ts'
import {
  type MadePayment,
  moneyInOfThisFile,
  notePayments,
  type PaymentState,
  readPaymentStates,
} from '../support/money-in.ts'
import { poolAs } from '../support/postgres.ts'
import { callApi, testShop } from '../support/till.ts'

// Two receivers and two workers share the notifications of the test payment provider while this file allows it.
const { stack, till, drive, webhooks } = await moneyInOfThisFile({ INVARIANTS_EVERY_MS: '86400000' })
const { pool } = stack.database
const workerPool = poolAs('model_gateway_worker', stack.database)

const amount = nanoRub(1_000_000_000_000n)

type Paid = MadePayment & { readonly providerId: string }

/** Payments of 1,000 ₽ that the workers have made at the provider. */
async function makePayments(count: number, capture: boolean): Promise<readonly Paid[]> {
  const callOf = (id: string) => {
    const sale = { id, amount, email: 'payer@example.com', receipt: undefined }
    // Our payments are always captured at once. With two stages there are more events.
    return { ...JSON.parse(paymentBody({ ...sale, returnUrl: 'http://localhost:3000/' })), capture }
  }
  const made = await notePayments(stack, count, amount, callOf)
  const states = await untilAll(made, ({ providerId }) => providerId !== null)
  return made.map((payment) => ({ ...payment, providerId: states.get(payment.id)?.providerId ?? '' }))
}

/** Resolves with the states of payments, once each of them is as it should be. */
async function untilAll(
  payments: readonly MadePayment[],
  isRight: (state: PaymentState) => boolean,
): Promise<ReadonlyMap<string, PaymentState>> {
  const ids = payments.map(({ id }) => id)
  return vi.waitFor(
    async () => {
      const states = await readPaymentStates(stack, ids)
      expect([...states.values()].filter((state) => !isRight(state))).toEqual([])
      return states
    },
    { interval: 200 },
  )
}

const untilLookedAt = () =>
  vi.waitFor(async () => {
    const { rows } = await pool.query(
      'select count(*)::int as waiting from webhook_inbox where processed_at is null',
    )
    expect(rows).toEqual([{ waiting: 0 }])
  })

test('one notification 1,000 times at once over two receivers and two workers: one credit, one bonus, one promised trial', async () => {
  const [payment] = await makePayments(1, true)
  if (payment === undefined) throw new Error('no payment was made')
  await promiseTrial(payment.organizationId)
  await drive.pay(payment.providerId)
  const { notifications } = await drive.journal()
  const id = notifications.find(({ objectId }) => objectId === payment.providerId)?.id ?? ''
  const sent = await Promise.all(webhooks.map((to) => drive.deliver(id, 500, to)))
  expect(sent.flat()).toEqual(Array.from({ length: 1_000 }, () => 200))
  await untilLookedAt()
  const { rows } = await pool.query(
    'select outcome, count(*)::int as count from webhook_inbox where object_id = $1 group by 1',
    [payment.providerId],
  )
  expect(rows).toEqual([{ outcome: 'settled', count: 1_000 }])
  const states = await readPaymentStates(stack, [payment.id])
  expect(states.get(payment.id)).toMatchObject({
    status: 'succeeded',
    entries: ['top_up 1000', 'trial 30', 'welcome 150'],
    bonuses: 1,
    bonusesTaken: 0,
  })
  expect((await pool.query('select from promised_trials')).rowCount).toBe(0)
})

/** As where a trial comes with the first top-up. */
async function promiseTrial(organizationId: string): Promise<void> {
  await pool.query(
    "select promise_trial($1::uuid, sha256($1::uuid::text::bytea), 'example.org', 30000000000)",
    [organizationId],
  )
}

/**
 * The four events of the longest life that a payment can have: paid in two stages, and given back in two parts. There is
 * no `payment.canceled` among them: the provider never cancels a payment that it has taken, and never takes a canceled one.
 */
const eventCount = 4
const places = Array.from({ length: eventCount }, (_, place) => place)
const orders = permutationsOf(places)

/** Events at the test payment provider, one by one. */
const happenings: readonly ((payment: Paid) => Promise<unknown>)[] = [
  ({ providerId }) => drive.pay(providerId),
  // Refused where a worker was there before us.
  ({ providerId }) => callApi(till, 'POST', `/payments/${providerId}/capture`),
  ({ providerId }) => drive.refund(providerId, '400.00'),
  ({ providerId }) => drive.refund(providerId),
]

/** One order of notifications, and what happens to two of them on the way. */
type Life = { readonly order: readonly number[]; readonly lost: number; readonly doubled: number }

/** Where the lost copy is one of two, each event comes once, whichever it is. */
const mishaps = places.flatMap((lost) =>
  places.filter((doubled) => lost !== doubled || lost === 0).map((doubled) => ({ lost, doubled })),
)
const lives: readonly Life[] = orders.flatMap((order) => mishaps.map((mishap) => ({ order, ...mishap })))

function copiesOf({ lost, doubled }: Life, event: number): number {
  return 1 + Number(event === doubled) - Number(event === lost)
}

test('four events in each order, each lost, each doubled: always the final state of the payment provider', async () => {
  const payments = await makePayments(lives.length, false)
  const played = payments.map((payment, index) => ({ payment, life: lives[index] as Life, happened: 0 }))
  for (const place of places) {
    // No notification comes before its event, and no event before it must. So the workers see each intermediate
    // state.
    await Promise.all(
      played.map(async (one) => {
        const event = one.life.order[place] ?? 0
        for (; one.happened <= event; one.happened++) await happenings[one.happened]?.(one.payment)
      }),
    )
    const told = notificationsOf(await drive.journal())
    await Promise.all(
      played.map(async ({ payment, life }, index) => {
        const event = life.order[place] ?? 0
        const id = told.get(payment.providerId)?.[event] ?? ''
        const copies = Array.from(
          { length: copiesOf(life, event) },
          (_, copy) => webhooks[(index + copy) % 2],
        )
        for (const statuses of await Promise.all(copies.map((to) => drive.deliver(id, 1, to))))
          expect(statuses).toEqual([200])
      }),
    )
    await untilLookedAt()
  }

  // A lost one is found by the query for each open payment, and by the daily comparison.
  await pool.query('update payments set next_poll_at = now() where next_poll_at is not null')
  await compare()
  const states = await untilAll(payments, ({ status }) => status === 'refunded')
  const journal = await drive.journal()
  const expected = new Map(payments.map((payment) => [payment.id, stateAtTill(journal, payment)]))
  expect(states).toEqual(expected)
  const { rows } = await pool.query('select * from payment_differences')
  expect(rows).toEqual([])
  for (const report of await checkInvariants(pool)) expect(report).toMatchObject({ breachCount: 0 })
})

/** Ids of the notifications of each payment, in the order of the events. */
function notificationsOf({ notifications, refunds }: Journal): ReadonlyMap<string, readonly string[]> {
  const paymentOf = new Map(refunds.map((refund) => [refund.id, refund.payment_id]))
  const found = new Map<string, string[]>()
  for (const { id, objectId } of notifications) {
    const payment = paymentOf.get(objectId) ?? objectId
    found.set(payment, [...(found.get(payment) ?? []), id])
  }
  return found
}

async function compare(): Promise<void> {
  const { shopId, secretKey } = testShop
  const shop = openShop({ url: till.apiUrl, shopId, secretKey, isTest: true, receipt: undefined })
  const ignore = () => undefined
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  await compareAll({ pool: workerPool, shop, log }, 1, new Date(Date.now() + 1_000))
  await shop.close()
}

/** The ledger postings that the test payment provider's state implies here. */
function stateAtTill({ payments, refunds }: Journal, { id, providerId }: Paid): PaymentState {
  const paid = payments.filter(({ metadata }) => metadata.payment_id === id)
  const back = refunds.filter((refund) => refund.payment_id === providerId)
  expect(paid).toMatchObject([{ id: providerId, status: 'succeeded' }])
  const rub = (value = '') => String(Number(value))
  return {
    providerId,
    status: 'refunded',
    refunded: rub(paid[0]?.refunded_amount?.value),
    refunds: back.map((refund) => `${refund.id} ${rub(refund.amount.value)} ${refund.status}`).toSorted(),
    entries: [
      'bonus_reversal -150',
      'welcome 150',
      `top_up ${rub(paid[0]?.amount.value)}`,
      ...back.map((refund) => `refund -${rub(refund.amount.value)}`),
    ].toSorted(),
    bonuses: 1,
    bonusesTaken: 1,
  }
}

function permutationsOf(items: readonly number[]): readonly (readonly number[])[] {
  if (items.length === 0) return [[]]
  return items.flatMap((first) =>
    permutationsOf(items.filter((item) => item !== first)).map((rest) => [first, ...rest]),
  )
}
