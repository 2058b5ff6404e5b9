import { expect, test } from 'vitest'
import { laneOf } from '#core/ledger/lanes'
import { lanesOfShard, newestOf, splitByLane } from './lane-batches.ts'

const laned = { organizationId: 'laned', shard: 3, lanes: 4 }

const charge = (organizationId: string, n: number) => ({
  organizationId,
  requestId: `0190c7b0-0000-7000-8000-0000${n.toString(16).padStart(8, '0')}`,
  n,
})

test('charges of organizations with one lane stay together and in order', () => {
  const charges = [charge('a', 1), charge('b', 2), charge('a', 3)]
  expect(splitByLane(charges, [])).toEqual([charges])
  expect(splitByLane(charges, [laned])).toEqual([charges])
})

test('each lane of an organization is a part, in which entries of one request keep their order', () => {
  const charges = [0, 1, 2, 5, 1, 8].map((n) => charge('laned', n))
  const parts = splitByLane([charge('a', 7), ...charges], [laned])
  expect(parts.map((part) => part.map(({ n }) => n))).toEqual([[7, 0, 8], [1, 5, 1], [2]])
  for (const part of parts)
    expect(new Set(part.filter(({ n }) => n !== 7).map(({ requestId }) => laneOf(requestId, 4))).size).toBe(1)
})

test('a shard has the most lanes of its organizations, and else one', () => {
  expect(lanesOfShard([laned, { ...laned, lanes: 2 }], 3)).toBe(4)
  expect(lanesOfShard([laned], 4)).toBe(1)
})

test('of a balance, a key’s day and a window the newest version is copied to Redis', () => {
  const balance = { organizationId: 'a', postedNano: 5n, version: 2n }
  const keyDay = { keyId: 'k', day: 1, postedNano: 5n, version: 2n }
  const window = { scope: 'key', ownerId: 'k', period: 'week', day: 1, postedNano: 5n, version: 2n } as const
  const older = {
    balances: [{ ...balance, version: 1n }],
    keyDays: [{ ...keyDay, version: 1n }],
    windows: [{ ...window, version: 1n }],
  }
  const newer = {
    balances: [balance],
    keyDays: [keyDay, { ...keyDay, day: 2 }],
    windows: [window, { ...window, period: 'month' as const }],
  }
  for (const batches of [
    [older, newer],
    [newer, older],
  ])
    expect(newestOf(batches)).toEqual(newer)
})
