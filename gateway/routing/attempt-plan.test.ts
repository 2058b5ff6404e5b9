import { describe, expect, test } from 'vitest'
import { type Failure, failureOfFault, failureOfStatus } from '../upstream/failure.ts'
import { type FailedAttempt, hasOtherTarget, nextTargets, orderBackends } from './attempt-plan.ts'
import { aBackend as backend, aRoute as route } from './made-up-route.fixture.ts'
import type { Backend, Route } from './route-table.ts'

/** The same numbers each time. */
function seeded(): () => number {
  let seed = 1
  return () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
}

describe('the order of backends', () => {
  const idle = () => 0

  test('is by priority, whatever the weights', () => {
    const backends = [backend('spare', 1, 100), backend('first', 0, 1)]
    expect(orderBackends(backends, Math.random, idle).map(({ name }) => name)).toEqual(['first', 'spare'])
  })

  test('shares one priority by weight', () => {
    const backends = [backend('heavy', 0, 80), backend('light', 0, 20)]
    expect(firstOf(backends, 10_000, idle)).toEqual({
      heavy: expect.closeTo(8_000, -3),
      light: expect.closeTo(2_000, -3),
    })
  })

  test('keeps to the weights while all are equally fast', () => {
    const backends = [backend('heavy', 0, 80), backend('light', 0, 20)]
    const { started } = serveAll(backends, 10_000, { heavy: 50, light: 50 })
    expect(started.heavy).toBeGreaterThan(7_500)
    expect(started.heavy).toBeLessThan(8_500)
  })

  test('sends little to one that hangs', () => {
    const backends = [backend('good', 0, 1), backend('hangs', 0, 1)]
    const { started } = serveAll(backends, 10_000, { good: 5, hangs: 1_000 })
    expect(started.hangs).toBeLessThan(200)
  })

  test('prefers no spare of a lower priority, however busy the first is', () => {
    const backends = [backend('busy', 0, 1), backend('spare', 1, 1)]
    expect(orderBackends(backends, Math.random, ({ name }) => (name === 'busy' ? 1_000 : 0))[0]?.name).toBe(
      'busy',
    )
  })
})

test('the provider that signed a conversation comes first, whatever its priority, and the others keep their order', () => {
  const signedBy = (origin: string, given: Backend): Backend => ({
    ...given,
    dialect: { ...given.dialect, origin },
  })
  const backends = [
    signedBy('a', backend('first', 0, 1)),
    signedBy('a', backend('second', 1, 1)),
    signedBy('b', backend('signer', 2, 1)),
  ]
  const namesFor = (signer?: string) =>
    orderBackends(backends, Math.random, () => 0, { signedBy: signer }).map(({ name }) => name)
  expect(namesFor('b')).toEqual(['signer', 'first', 'second'])
  expect(namesFor('unknown')).toEqual(namesFor())
})

describe('the order for a session', () => {
  const idle = () => 0
  const three = ['a', 'b', 'c'].map((name) => backend(name, 0, 1))
  const sessions = Array.from({ length: 9_000 }, (_, n) => `session ${n}`)
  const namesFor = (
    backends: readonly Backend[],
    affinity: string,
    inFlight = idle as (of: Backend) => number,
  ) => orderBackends(backends, Math.random, inFlight, { affinity }).map(({ name }) => name)
  const countFirsts = (backends: readonly Backend[]) => {
    const counts: Counts = {}
    for (const session of sessions) {
      const [first = ''] = namesFor(backends, session)
      counts[first] = (counts[first] ?? 0) + 1
    }
    return counts
  }

  test('is the same each time, whatever order the backends have in the catalog', () => {
    for (const session of sessions.slice(0, 100))
      expect(namesFor(three.toReversed(), session)).toEqual(namesFor(three, session))
  })

  test('is by priority, and follows the weights within one', () => {
    const backends = [backend('spare', 1, 100), backend('heavy', 0, 80), backend('light', 0, 10)]
    expect(countFirsts(backends)).toEqual({
      heavy: expect.closeTo(8_000, -3),
      light: expect.closeTo(1_000, -3),
    })
    for (const session of sessions.slice(0, 100)) expect(namesFor(backends, session)[2]).toBe('spare')
  })

  test('moves only the sessions of a backend that goes, to all others', () => {
    const two = three.slice(0, 2)
    const moved: Counts = {}
    for (const session of sessions) {
      const [before, second = ''] = namesFor(three, session)
      const [after] = namesFor(two, session)
      if (before === 'c') moved[String(after)] = (moved[String(after)] ?? 0) + 1
      else expect(after).toBe(before)
      if (before === 'c') expect(after).toBe(second)
    }
    expect(moved).toEqual({ a: expect.closeTo(1_500, -2.5), b: expect.closeTo(1_500, -2.5) })
  })

  test('puts a backend last that has far more requests than another one, for their weights', () => {
    const firstWith = (inFlight: Counts, backends = three) =>
      namesFor(backends, 'session 1', ({ name }) => inFlight[name] ?? 0)
    const [home = '', next = '', last = ''] = firstWith({})
    expect(firstWith({ [home]: 7 })[0], 'a session may ask several at a time').toBe(home)
    expect(firstWith({ [home]: 8 })).toEqual([next, last, home])
    expect(firstWith({ [home]: 27, [next]: 10, [last]: 10 })[0]).toBe(home)
    expect(firstWith({ [home]: 28, [next]: 10, [last]: 10 })[0]).toBe(next)
    const heavy = three.map((each) => (each.name === home ? { ...each, weight: 1_000 } : each))
    expect(firstWith({ [home]: 20_000, [next]: 10, [last]: 10 }, heavy)[0]).toBe(home)
    const spare = three.map((each) => ({ ...each, priority: each.name === home ? 0 : 1 }))
    expect(firstWith({ [home]: 1_000 }, spare)[0], 'those of a later priority are no others').toBe(home)
  })

  test('is for a popular session that of its backend, and of the others what that cannot take', () => {
    const inFlight: Counts = {}
    for (let n = 0; n < 300; n += 1) {
      const [first = ''] = namesFor(three, 'popular', ({ name }) => inFlight[name] ?? 0)
      inFlight[first] = (inFlight[first] ?? 0) + 1
    }
    const counts = Object.values(inFlight).toSorted((a, b) => b - a)
    expect(counts).toHaveLength(3)
    expect(counts[0]).toBeLessThanOrEqual(2 * (counts[2] ?? 0) + 9)
  })

  test('begins with the backends of the signer, if one signed', () => {
    const signed = three.map((each) => ({ ...each, dialect: { ...each.dialect, origin: each.name } }))
    for (const signedBy of ['a', 'b', 'c'])
      expect(orderBackends(signed, Math.random, idle, { signedBy, affinity: 's' })[0]?.name).toBe(signedBy)
  })
})

type Counts = Record<string, number>

function firstOf(
  backends: readonly Backend[],
  times: number,
  inFlight: (backend: Backend) => number,
): Counts {
  const random = seeded()
  const counts: Counts = {}
  for (let n = 0; n < times; n += 1) {
    const name = orderBackends(backends, random, inFlight)[0]?.name ?? ''
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/** One request a tick, each taking its backend's ticks. */
function serveAll(backends: readonly Backend[], requests: number, ticks: Counts): { started: Counts } {
  const random = seeded()
  const started: Counts = {}
  const ends: { readonly name: string; readonly at: number }[] = []
  for (let now = 0; now < requests; now += 1) {
    const running = (given: Backend) => ends.filter(({ name, at }) => name === given.name && at > now).length
    const name = orderBackends(backends, random, running)[0]?.name ?? ''
    started[name] = (started[name] ?? 0) + 1
    ends.push({ name, at: now + (ticks[name] ?? 0) })
    if (ends.length > 2_000) ends.splice(0, 500)
  }
  return { started }
}

describe('where a request is tried next', () => {
  const broken = failureOfFault('reset')
  const silent = failureOfFault('first_byte_timeout')
  const overloaded = failureOfStatus({ status: 429, headers: {}, body: '', nowMs: 0 })
  const tooLong = failureOfStatus({ status: 400, headers: {}, body: '{"error":"context_length"}', nowMs: 0 })
  const wrong = failureOfStatus({ status: 400, headers: {}, body: '{"error":"no"}', nowMs: 0 })

  const a = backend('a', 0, 1)
  const b = backend('b', 0, 1)
  const small = route('m/small', { attempts: 3, backends: [a, b], contextLength: 1_000 })
  const same = route('m/same', { attempts: 1, backends: [backend('c', 0, 1)], contextLength: 1_000 })
  const large = route('m/large', { attempts: 2, backends: [backend('d', 0, 1)], contextLength: 9_000 })
  const options = [small, same, large].map((given) => ({ route: given, backends: given.backends }))

  const at = (given: Route, target: Backend, failure: Failure): FailedAttempt => ({
    target: { route: given, backend: target },
    failure,
  })
  const namesAfter = (...failed: FailedAttempt[]) =>
    nextTargets(options, failed).map((target) => target.backend.name)

  test('is every backend of every model at first', () => {
    expect(namesAfter()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('is the other backend, then the same again, then the fallback', () => {
    expect(namesAfter(at(small, a, broken))).toEqual(['b', 'a', 'c', 'd'])
    expect(namesAfter(at(small, a, broken), at(small, b, broken))).toEqual(['a', 'b', 'c', 'd'])
    const all = [at(small, a, broken), at(small, b, broken), at(small, a, broken)]
    expect(namesAfter(...all)).toEqual(['c', 'd'])
  })

  test('is what was silent only after every other target, fallbacks too', () => {
    expect(namesAfter(at(small, a, silent))).toEqual(['b', 'c', 'd', 'a'])
    expect(namesAfter(at(small, a, silent), at(small, b, broken))).toEqual(['b', 'c', 'd', 'a'])
    const status504 = failureOfStatus({ status: 504, headers: {}, body: '', nowMs: 0 })
    expect(namesAfter(at(small, a, status504))).toEqual(['b', 'a', 'c', 'd'])
  })

  test('is never a backend that is overloaded', () => {
    expect(namesAfter(at(small, a, overloaded), at(small, b, broken))).toEqual(['b', 'c', 'd'])
  })

  test('is a larger context when it was too long', () => {
    expect(namesAfter(at(small, a, tooLong))).toEqual(['d'])
  })

  test('is nowhere when the request is wrong', () => {
    expect(namesAfter(at(small, a, wrong))).toEqual([])
  })
})

describe('another target is left', () => {
  const broken = failureOfFault('reset')
  const overloaded = failureOfStatus({ status: 429, headers: {}, body: '', nowMs: 0 })
  const [a, b, c] = [backend('a', 0, 1), backend('b', 0, 1), backend('c', 0, 1)]
  const one = route('m/one', { attempts: 3, backends: [a] })
  const two = route('m/two', { attempts: 2, backends: [a, b] })
  const other = route('m/other', { attempts: 1, backends: [c] })
  const optionsOf = (...routes: Route[]) =>
    routes.map((given) => ({ route: given, backends: given.backends }))
  const at = (given: Route, target: Backend) => ({ route: given, backend: target })

  test('where a route has another backend, and an attempt for it', () => {
    expect(hasOtherTarget(at(two, a), optionsOf(two), [])).toBe(true)
    const failed = [{ target: at(two, a), failure: broken }]
    expect(hasOtherTarget(at(two, b), optionsOf(two), failed)).toBe(false)
    const once = route('m/once', { attempts: 1, backends: [a, b] })
    expect(hasOtherTarget(at(once, a), optionsOf(once), [])).toBe(false)
  })

  test('where there is a fallback that may still help', () => {
    expect(hasOtherTarget(at(one, a), optionsOf(one, other), [])).toBe(true)
    const failed = [{ target: at(other, c), failure: overloaded }]
    expect(hasOtherTarget(at(one, a), optionsOf(one, other), failed)).toBe(false)
  })

  test('but one that was silent is none: the last other target has all the time that is left', () => {
    const failed = [{ target: at(one, a), failure: failureOfFault('first_byte_timeout') }]
    expect(hasOtherTarget(at(other, c), optionsOf(one, other), failed)).toBe(false)
    expect(
      hasOtherTarget(at(two, b), optionsOf(two, other), [
        { target: at(two, a), failure: failureOfFault('first_byte_timeout') },
      ]),
    ).toBe(true)
  })

  test('but the same backend again is none, however many attempts are left', () => {
    expect(hasOtherTarget(at(one, a), optionsOf(one), [])).toBe(false)
  })
})
