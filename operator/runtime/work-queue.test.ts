import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createWorkQueue, retryMs } from './work-queue.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const noError = (key: string, error: unknown) => {
  throw new Error(`${key}: ${error}`)
}

/** A reconcile whose runs wait until the test ends them. */
function heldRuns() {
  const runs: { readonly key: string; end(): void; fail(): void }[] = []
  return {
    runs,
    keys: () => runs.map(({ key }) => key),
    reconcile(key: string) {
      const { promise, resolve, reject } = Promise.withResolvers<undefined>()
      runs.push({ key, end: () => resolve(undefined), fail: () => reject(new Error('no')) })
      return promise
    },
  }
}

test('a key added many times before it runs is run once', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError })
  for (let i = 0; i < 100; i++) queue.add('a/x')
  await turn()
  expect(held.keys()).toEqual(['a/x'])
})

test('a key added while it runs runs exactly once more, after its run', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError })
  queue.add('a/x')
  await turn()
  queue.add('a/x')
  queue.add('a/x')
  await turn()
  expect(held.runs.length).toBe(1)
  held.runs[0]?.end()
  await turn()
  held.runs[1]?.end()
  await turn()
  expect(held.keys()).toEqual(['a/x', 'a/x'])
})

test('a key that runs and waits does not hold up the keys behind it', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError, workers: 2 })
  queue.add('a/x')
  await turn()
  queue.add('a/x')
  queue.add('a/y')
  await turn()
  expect(held.keys()).toEqual(['a/x', 'a/y'])
})

test('namespaces take turns: thousands of keys of one do not delay a key of another', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError, workers: 2 })
  for (let i = 0; i < 4_000; i++) queue.add(`flood/${i}`)
  await turn()
  queue.add('quiet/x')
  held.runs[0]?.end()
  await turn()
  held.runs[1]?.end()
  await turn()
  expect(held.keys()).toEqual(['flood/0', 'flood/1', 'flood/2', 'quiet/x'])
})

test('in a namespace changes come before a resync, and a key that waits for a resync moves up when it changes', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError, workers: 1 })
  for (const key of ['a/1', 'a/2', 'a/3']) queue.addResync(key)
  queue.add('a/new')
  queue.add('a/3')
  queue.addResync('a/new')
  expect(queue.depth).toBe(4)
  await turn()
  for (let index = 0; index < 4; index++) {
    held.runs[index]?.end()
    await turn()
  }
  expect(held.keys()).toEqual(['a/new', 'a/3', 'a/1', 'a/2'])
})

test('a resync of a key that runs is none: it is being checked', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError })
  queue.add('a/x')
  await turn()
  queue.addResync('a/x')
  held.runs[0]?.end()
  await turn()
  expect([held.keys(), queue.depth]).toEqual([['a/x'], 0])
})

test('a failing key is tried again after 5 ms doubled each time, at most 5 min, and a success forgets that', async () => {
  const startedAtMs: number[] = []
  let fails = true
  const queue = createWorkQueue({
    async reconcile() {
      startedAtMs.push(performance.now())
      if (fails) throw new Error('no')
      return undefined
    },
    onError: () => undefined,
  })
  queue.add('a/x')
  await vi.advanceTimersByTimeAsync(4 * 300_000)
  const pauses = startedAtMs.map((at, index) => at - (startedAtMs[index - 1] ?? at)).slice(1)
  expect(pauses.slice(0, 4)).toEqual([5, 10, 20, 40])
  expect(Math.max(...pauses)).toBeLessThanOrEqual(300_000)
  fails = false
  await vi.advanceTimersByTimeAsync(300_000)
  fails = true
  startedAtMs.length = 0
  queue.add('a/x')
  await vi.advanceTimersByTimeAsync(5)
  expect(startedAtMs.length).toBe(2)
})

test('failed keys are tried again at once when a retry is worth it, also one that runs just then', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: () => undefined })
  const fail = async (index: number) => {
    held.runs[index]?.fail()
    await turn()
  }
  for (const key of ['a/good', 'a/bad', 'a/slow']) queue.add(key)
  await turn()
  held.runs[0]?.end()
  await fail(1)
  await fail(2)
  await vi.advanceTimersByTimeAsync(5)
  expect(held.keys().slice(3)).toEqual(['a/bad', 'a/slow'])
  await fail(3)
  queue.retryFailed()
  await turn()
  expect(held.keys().slice(5)).toEqual(['a/bad'])
  await fail(4)
  expect(held.keys().slice(6)).toEqual(['a/slow'])
})

test('no pause after a failure is longer than 5 min, however many came before', () => {
  expect([0, 1, 15, 16, 1000].map(retryMs)).toEqual([5, 10, 163_840, 300_000, 300_000])
})

test('a run wished for in 60 days comes after 60 days and not at once', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError })
  const dayMs = 86_400_000
  queue.addAfter('a/x', 60 * dayMs)
  await vi.advanceTimersByTimeAsync(60 * dayMs - 10)
  expect(held.runs.length).toBe(0)
  await vi.advanceTimersByTimeAsync(20)
  expect(held.runs.length).toBe(1)
})

test('of two later runs wished for, the earlier comes', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError })
  queue.addAfter('a/x', 1_000)
  queue.addAfter('a/x', 9_000)
  queue.addAfter('a/x', 100)
  await vi.advanceTimersByTimeAsync(100)
  expect(held.runs.length).toBe(1)
  held.runs[0]?.end()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(held.runs.length).toBe(1)
})

test('a drained queue starts nothing more, and is drained when the last running key ends', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: noError, workers: 1 })
  queue.add('a/x')
  queue.add('a/y')
  queue.addAfter('a/z', 10)
  await turn()
  let isDrained = false
  const drained = queue.drain().then(() => {
    isDrained = true
  })
  queue.add('a/w')
  await vi.advanceTimersByTimeAsync(100)
  expect(isDrained).toBe(false)
  held.runs[0]?.end()
  await drained
  expect(held.keys()).toEqual(['a/x'])
})

test('a drained queue waits for all that run, and keeps no process alive with a later try of what fails then', async () => {
  const held = heldRuns()
  const queue = createWorkQueue({ reconcile: held.reconcile, onError: () => undefined })
  queue.add('a/x')
  queue.add('a/y')
  queue.addAfter('a/z', 60_000)
  await turn()
  let isDrained = false
  const drained = queue.drain().then(() => {
    isDrained = true
  })
  expect(vi.getTimerCount()).toBe(0)
  held.runs[0]?.fail()
  await turn()
  expect(isDrained).toBe(false)
  held.runs[1]?.end()
  await drained
  expect(vi.getTimerCount()).toBe(0)
})

/** Events of a queue: an add, a later add, time passes, a run succeeds or fails. */
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key: fc.integer({ min: 0, max: 4 }) }),
  fc.record({ do: fc.constant('later' as const), key: fc.integer({ min: 0, max: 4 }), ms: fc.nat(50) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.nat(50) }),
  fc.record({ do: fc.constant('end' as const), run: fc.nat(9), isGood: fc.boolean() }),
)

test('whatever happens: never more runs than workers, no key twice at once, and every add is followed by a run', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const open: { key: string; end(isGood: boolean): void }[] = []
      const addedUnseen = new Set<string>()
      const broken: string[] = []
      const queue = createWorkQueue({
        workers: 2,
        onError: () => undefined,
        reconcile(key) {
          if (open.some((run) => run.key === key)) broken.push(`${key} runs twice at once`)
          const { promise, resolve, reject } = Promise.withResolvers<undefined>()
          addedUnseen.delete(key)
          open.push({ key, end: (isGood) => (isGood ? resolve(undefined) : reject(new Error('no'))) })
          if (open.length > 2) broken.push('three at once')
          return promise
        },
      })
      const end = (index: number, isGood: boolean) => open.splice(index, 1)[0]?.end(isGood)
      for (const action of steps) {
        if (action.do === 'add') {
          addedUnseen.add(`a/${action.key}`)
          queue.add(`a/${action.key}`)
        } else if (action.do === 'later') {
          addedUnseen.add(`a/${action.key}`)
          queue.addAfter(`a/${action.key}`, action.ms)
        } else if (action.do === 'wait') await vi.advanceTimersByTimeAsync(action.ms)
        else if (open.length > 0) end(action.run % open.length, action.isGood)
        await turn()
      }
      for (let round = 0; round < 30; round++) {
        await vi.advanceTimersByTimeAsync(50)
        while (open.length > 0) end(0, true)
        await turn()
      }
      expect(broken).toEqual([])
      expect([...addedUnseen]).toEqual([])
      expect(queue.depth).toBe(0)
      expect(queue.runningMs()).toEqual([])
      await queue.drain()
    }),
    { numRuns: 60 },
  )
})
