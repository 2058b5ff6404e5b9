import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkBooks } from './books.ts'
import { putJournalProvider } from './journal.ts'
import { type Call, chat, loadDuring } from './load.ts'
import { createCustomer, createKey, eventually, imageOf, podsOf, putRelease } from './release.ts'
import { figure } from './results.ts'

const plenty = { requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000 }
/** More than two gateways' share of 100 millicores each can do within 60 %. */
const loadPerS = 60
const limitPerMinute = 60
/** A minute less what may pass between a request's id and its admission. */
const windowMs = 59_000
const scaleWithinMs = 240_000

beforeAll(async () => {
  await putRelease([
    'gateway.autoscaling.enabled=true',
    'gateway.autoscaling.maxReplicas=3',
    'gateway.resources.requests.cpu=100m',
    'gateway.autoscaling.scaleDownStabilizationSeconds=30',
  ])
  await putJournalProvider(await imageOf('gateway'))
})
afterAll(() => putRelease())

test('load takes the gateway from 2 pods to 3 and back, fails no request, and a key keeps its RPM exactly', async () => {
  const customer = await createCustomer('100')
  const { key } = await createKey(customer, 'load', { limits: plenty })
  const limited = await createKey(customer, 'limited', {
    limits: { ...plenty, requestsPerMinute: limitPerMinute },
  })
  await eventually(async () => expect(await podsOf('gateway')).toHaveLength(2), scaleWithinMs)

  const startMs = performance.now()
  const limitedCalls: Call[] = []
  const calls = await loadDuring(key, loadPerS, ask, async () => {
    let hasScaled = false
    const hammering = (async () => {
      while (!hasScaled) limitedCalls.push(await chat(limited.key, ask()))
    })()
    await eventually(async () => expect(await podsOf('gateway')).toHaveLength(3), scaleWithinMs)
    figure('HPA from 2 gateways to 3', `${Math.round((performance.now() - startMs) / 1000)} s`)
    await eventually(async () => expect(performance.now() - startMs).toBeGreaterThan(130_000), scaleWithinMs)
    hasScaled = true
    await hammering
  })
  const calm = await loadDuring(key, 2, ask, async () => {
    await eventually(async () => expect(await podsOf('gateway')).toHaveLength(2), scaleWithinMs)
  })
  const all = [...calls, ...calm]
  expect(all.filter(({ isWhole }) => !isWhole)).toEqual([])
  expect(limitedCalls.filter(({ status }) => status !== 200 && status !== 429)).toEqual([])
  const admittedAtMs = limitedCalls.filter(({ status }) => status === 200).map(timeOf)
  for (const fromMs of admittedAtMs)
    expect(admittedAtMs.filter((ms) => ms >= fromMs && ms < fromMs + windowMs).length).toBeLessThanOrEqual(
      limitPerMinute,
    )
  // And no less: a client that sends requests without a pause gets the whole limit in each whole minute.
  const minutes = Math.floor((Math.max(...admittedAtMs) - Math.min(...admittedAtMs)) / 61_000)
  expect(admittedAtMs.length).toBeGreaterThanOrEqual(minutes * limitPerMinute)
  await checkBooks(
    customer.organization,
    [...all, ...limitedCalls.filter(({ isWhole }) => isWhole)],
    'each asked once',
  )
})

/** When the gateway took a request in, as the first 48 bits of its id say. */
function timeOf({ requestId = '' }: Call): number {
  return Number.parseInt(requestId.replaceAll('-', '').slice(0, 12), 16)
}

function ask() {
  return { pieces: 2, everyMs: 5, stream: false } as const
}
