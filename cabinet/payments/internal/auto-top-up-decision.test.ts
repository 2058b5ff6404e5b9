import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AutoTopUpFacts, decideAutoTopUp } from './auto-top-up-decision.ts'

const now = new Date('2026-11-27T12:00:00Z')
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000)

/** A balance of 99 ₽ with a threshold of 100 ₽, and nothing in the way. In rubles, since only comparisons matter. */
const low: AutoTopUpFacts = {
  balance: 99n,
  threshold: 100n,
  amount: 1000n,
  dailyMax: 3000n,
  chargedToday: 0n,
  lastAt: null,
  openSince: null,
  expires: '2026-11',
  month: '2026-11',
  isBlocked: false,
  now,
}

test.each<[string, Partial<AutoTopUpFacts>, ReturnType<typeof decideAutoTopUp>]>([
  ['charges a balance below the threshold', {}, 'charge'],
  ['waits at the threshold', { balance: 100n }, 'wait'],
  ['charges up to the maximum of the day', { chargedToday: 2000n }, 'charge'],
  ['waits beyond the maximum of the day', { chargedToday: 2001n }, 'wait'],
  ['waits for 10 minutes after the last payment', { lastAt: minutesAgo(9.9) }, 'wait'],
  ['charges 10 minutes after the last payment', { lastAt: minutesAgo(10) }, 'charge'],
  ['waits for an unfinished payment', { openSince: minutesAgo(60), lastAt: minutesAgo(60) }, 'wait'],
  ['stops after a day without an outcome', { openSince: minutesAgo(25 * 60) }, { stop: 'no_outcome' }],
  ['stops before it charges an expired card', { expires: '2026-10' }, { stop: 'card_expired' }],
  ['does not stop an expired card that it need not charge', { expires: '2026-10', balance: 100n }, 'wait'],
  ['stops for a blocked organization or payer', { isBlocked: true }, { stop: 'blocked' }],
])('%s', (_, changed, expected) => {
  expect(decideAutoTopUp({ ...low, ...changed })).toEqual(expected)
})

test('whatever the facts, no charge exceeds the day, follows another too early, or meets a sufficient balance', () => {
  const amount = fc.bigInt({ min: 0n, max: 5000n })
  const time = fc.option(fc.integer({ min: 0, max: 2000 }).map(minutesAgo))
  const facts = fc.record({
    balance: fc.bigInt({ min: -5000n, max: 5000n }),
    threshold: amount,
    amount,
    dailyMax: amount,
    chargedToday: amount,
    lastAt: time,
    openSince: time,
    expires: fc.constantFrom('2026-10', '2026-11', '2030-01'),
    month: fc.constant('2026-11'),
    isBlocked: fc.boolean(),
    now: fc.constant(now),
  })
  fc.assert(
    fc.property(facts, (one) => {
      if (decideAutoTopUp(one) !== 'charge') return
      expect(one.chargedToday + one.amount).toBeLessThanOrEqual(one.dailyMax)
      expect(one.balance).toBeLessThan(one.threshold)
      expect(one.openSince).toBeNull()
      expect(now.getTime() - (one.lastAt?.getTime() ?? 0)).toBeGreaterThanOrEqual(600_000)
      expect(one.isBlocked).toBe(false)
    }),
    { numRuns: 2000 },
  )
})
