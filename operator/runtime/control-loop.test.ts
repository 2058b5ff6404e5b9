import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type Controller, createControlLoop } from './control-loop.ts'

/** A loop whose runs end when the test ends them. It is drained with this test. */
function loopOfThisTest(...controllers: readonly Partial<Controller>[]) {
  return loopOfResync(600_000, controllers)
}

function loopOfResync(resyncMs: number, controllers: readonly Partial<Controller>[]) {
  const errors: string[] = []
  const runs: { readonly name: string; readonly key: string; end(): void }[] = []
  const loop = createControlLoop({
    controllers: controllers.map((controller, index) => ({
      name: `c${index}`,
      keys: async () => [],
      reconcile(key) {
        const { promise, resolve } = Promise.withResolvers<undefined>()
        runs.push({ name: `c${index}`, key, end: () => resolve(undefined) })
        return promise
      },
      ...controller,
    })),
    resyncMs,
    onError: (name, key, error) => errors.push(`${name} ${key} ${error}`),
    observerOf: () => ({ added() {}, retried() {}, started() {}, ended() {} }),
  })
  onTestFinished(async () => {
    const drained = loop.drain()
    for (const { end } of runs) end()
    await drained
  })
  return { loop, runs, errors }
}

test('keys reported before the start are left to the full check at the start', async () => {
  const { loop, runs } = loopOfThisTest({ keys: async () => ['a/listed'] })
  loop.add('c0', 'a/told')
  await turn()
  expect(runs).toEqual([])
  loop.start()
  await turn()
  expect(runs.map(({ key }) => key)).toEqual(['a/listed'])
})

test('a loop is drained when the last run of the last controller has ended', async () => {
  const { loop, runs } = loopOfThisTest({}, {})
  loop.start()
  loop.add('c0', 'a/x')
  loop.add('c1', 'a/y')
  await turn()
  let isDrained = false
  const drained = loop.drain().then(() => {
    isDrained = true
  })
  runs[0]?.end()
  await turn()
  expect(isDrained).toBe(false)
  runs[1]?.end()
  await drained
})

test('a controller that cannot list its keys is reported by name, and the others are checked', async () => {
  const { loop, runs, errors } = loopOfThisTest(
    { keys: () => Promise.reject(new Error('no database')) },
    { keys: async () => ['a/y'] },
  )
  loop.start()
  await turn()
  expect(errors).toEqual(['c0  Error: no database'])
  expect(runs.map(({ name, key }) => `${name} ${key}`)).toEqual(['c1 a/y'])
})

test('keys reported after the drain, as by a list that took long, are dropped', async () => {
  const { promise: listed, resolve: list } = Promise.withResolvers<string[]>()
  const { loop, runs } = loopOfThisTest({ keys: () => listed })
  loop.start()
  await loop.drain()
  list(['a/x'])
  await turn()
  expect(runs).toEqual([])
})

test('a drained loop looks at everything no more, and keeps no process alive for that', async () => {
  const [drained, other] = [askedFor(2), askedFor(6)]
  const { loop } = loopOfResync(1, [drained])
  loop.start()
  await drained.enough
  await loop.drain()
  const before = drained.count()
  loopOfResync(1, [other]).loop.start()
  await other.enough
  expect(drained.count()).toBe(before)
})

/** A controller without keys, which was asked for them often `enough` after `times`. */
function askedFor(times: number) {
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  let count = 0
  return {
    enough,
    count: () => count,
    async keys() {
      count += 1
      if (count === times) resolve()
      return []
    },
  }
}

test('a controller has as many workers as it wants', async () => {
  const { loop, runs } = loopOfThisTest({ workers: 1 }, { workers: 6 })
  loop.start()
  for (const controller of ['c0', 'c1']) for (let n = 0; n < 9; n++) loop.add(controller, `a/${n}`)
  await turn()
  const runsOf = (controller: string) => runs.filter(({ name }) => name === controller).length
  expect([runsOf('c0'), runsOf('c1')]).toEqual([1, 6])
})
