import { expect, test } from 'vitest'
import type { Throttles } from '../api/throttles.ts'
import { passwordAttempts, workAfter } from './attempts.ts'

/** Counts forever, and lets no one wait. */
function countingThrottles(): Throttles & { readonly counts: Map<string, number> } {
  const counts = new Map<string, number>()
  const add = (caller: string, more: number) => {
    const count = (counts.get(caller) ?? 0) + more
    counts.set(caller, count)
    return count
  }
  return {
    counts,
    count: async (_, caller) => add(caller, 1) * 0,
    tally: async (_, caller) => add(caller, 1),
    takeBack: async (_, caller) => void add(caller, -1),
    clear: async (_, caller) => void counts.delete(caller),
  }
}

test('addresses that the database takes for the same are counted as one', async () => {
  const throttles = countingThrottles()
  const attempts = passwordAttempts(throttles)
  for (const email of [
    'nikita@x.ru',
    'NIKITA@X.RU',
    'n\u0130kita@x.ru',
    'ni\u212aita@x.ru',
    'nik\u0131ta@x.ru',
  ])
    await attempts.begin(email, { known: undefined, work: 0 })
  expect([...throttles.counts.values()]).toEqual([5])
})

test.each([
  [5, 0],
  [6, 1],
  [11, 2],
  [505, 100],
  [1_000_000, 100_000],
])('try %i of a day asks for %i units of work', (tries, work) => {
  expect(workAfter(tries)).toBe(work)
})

test('tries without the work that they need make nothing harder for others', async () => {
  const throttles = countingThrottles()
  const attempts = passwordAttempts(throttles)
  const begin = (work: number) => attempts.begin('a@x.ru', { known: undefined, work })
  for (let n = 0; n < 5; n++) expect(await begin(0)).toBeUndefined()
  for (let n = 0; n < 50; n++) expect(await begin(0)).toEqual({ code: 'proof_of_work_required', work: 1 })
  expect(await begin(1)).toBeUndefined()
  expect([...throttles.counts.values()]).toEqual([6])
})

test('tries from one place do not count for another', async () => {
  const throttles = countingThrottles()
  const attempts = passwordAttempts(throttles)
  await attempts.begin('a@x.ru', { known: undefined, work: 0 })
  await attempts.begin('a@x.ru', { known: 'device', work: 0 })
  await attempts.forget('a@x.ru', undefined)
  expect(throttles.counts.size).toBe(1)
})
