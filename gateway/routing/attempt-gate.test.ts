import { describe, expect, test } from 'vitest'
import {
  type AttemptGate,
  type AttemptGateDeps,
  createAttemptGate,
  type Pass,
  type Verdict,
} from './attempt-gate.ts'
import { chooseTarget } from './choose-target.ts'
import { healthReportOf } from './health-report.ts'
import { aBackend, aRoute } from './made-up-route.fixture.ts'
import type { Backend } from './route-table.ts'

const failure: Verdict = { failed: { retryAfterMs: null, trouble: 'unreachable' } }
const first = { attempt: 'first', cooldown: 'respect' } as const

function openGate(deps: Partial<AttemptGateDeps> = {}) {
  const clock = { ms: 0 }
  const changes: string[] = []
  const gate = createAttemptGate({
    nowMs: () => clock.ms,
    liveGateways: () => 1,
    onClosed: () => {},
    onChange: ({ name }, change) => changes.push(`${name} ${change}`),
    ...deps,
  })
  const enter = (backend: Backend, entering: Parameters<typeof gate.enter>[1] = first): Pass => {
    const entered = gate.enter(backend, entering)
    return entered.kind === 'open' ? entered : expect.fail(entered.why)
  }
  const fail = (backend: Backend, times = 5) => {
    for (let n = 0; n < times; n += 1) enter(backend).end(failure)
  }
  return { gate, clock, changes, enter, fail }
}

const told = (gate: AttemptGate) => healthReportOf(gate.deployments(), gate.providers())

describe('the gate', () => {
  const backend = aBackend('a', 0, 1)

  test('counts what is in flight', () => {
    const { gate, enter } = openGate()
    const passes = [enter(backend), enter(backend)]
    expect(gate.inFlight(backend)).toBe(2)
    passes[0]?.end('good')
    expect(gate.inFlight(backend)).toBe(1)
  })

  test('closes for a backend that failed too often, and lets one probe through when its cooldown is over', () => {
    const { gate, clock, changes, enter, fail } = openGate()
    fail(backend)
    expect(gate.enter(backend, first)).toEqual({ kind: 'closed', why: 'cooling_down', waitMs: 1_000 })
    expect(gate.deployments()).toMatchObject([{ provider: 'a', isRecovering: true }])
    clock.ms = 1_000
    const probe = enter(backend)
    expect(gate.enter(backend, first)).toMatchObject({ why: 'cooling_down' })
    probe.end('unknown') // its client left
    enter(backend).begin('in_time')
    enter(backend).end('good')
    expect(changes).toEqual(['a cooldown', 'a recovered'])
    expect(gate.deployments()).toMatchObject([{ provider: 'a', isRecovering: false }])
  })

  test('reports what is unhealthy and why until it answers well again, and nothing of one that asked to be spared', () => {
    const { gate, clock, enter, fail } = openGate()
    enter(aBackend('b', 0, 1)).end({ failed: { retryAfterMs: 7_000, trouble: 'overloaded' } })
    fail(backend, 4)
    expect(told(gate).unhealthy).toEqual({})
    enter(backend).end({ failed: { retryAfterMs: null, trouble: 'unauthorized' } })
    expect(told(gate).unhealthy).toEqual({
      a: 'unauthorized',
      [`a ${backend.dialect.model}`]: 'unauthorized',
    })
    clock.ms = 1_000
    enter(backend).end('good')
    expect(told(gate).unhealthy).toEqual({})
  })

  test('knows a deployment again, whatever route leads there', () => {
    const { gate, fail } = openGate()
    fail(backend)
    expect(gate.enter({ ...aBackend('a', 3, 7), name: 'other' }, first)).toMatchObject({
      why: 'cooling_down',
    })
    expect(gate.enter(aBackend('b', 0, 1), first).kind).toBe('open')
  })

  test('counts answers that begin too late, and streams that break, as failures', () => {
    const { gate, enter } = openGate()
    for (let n = 0; n < 5; n += 1) {
      const pass = enter(backend)
      pass.begin(n === 0 ? 'late' : 'in_time')
      pass.end(n === 0 ? 'good' : failure)
    }
    expect(gate.enter(backend, first)).toMatchObject({ why: 'cooling_down' })
  })

  test('counts an attempt once that begins too late and then breaks', () => {
    const { gate, enter, fail } = openGate()
    const pass = enter(backend)
    pass.begin('late')
    pass.end(failure)
    fail(backend, 3)
    expect(gate.enter(backend, first).kind).toBe('open')
    fail(backend, 1)
    expect(gate.enter(backend, first)).toMatchObject({ why: 'cooling_down' })
  })

  test('cools down one that cuts every stream as long as one that fails at once', () => {
    const fails = (pass: Pass) => pass.end(failure)
    const cuts = (pass: Pass) => {
      pass.begin('in_time')
      pass.end({ failed: { retryAfterMs: null, trouble: 'cut' } })
    }
    const askedIn10Minutes = (behave: (pass: Pass) => void) => {
      const { gate, clock } = openGate()
      let asked = 0
      for (; clock.ms < 600_000; clock.ms += 100) {
        const entered = gate.enter(backend, first)
        if (entered.kind !== 'open') continue
        asked += 1
        behave(entered)
      }
      return asked
    }
    expect(askedIn10Minutes(cuts)).toBe(askedIn10Minutes(fails))
    expect(askedIn10Minutes(cuts)).toBeLessThan(25)
  })

  test('opens for all once a probe’s stream has begun in time, and closes for twice as long if it is cut', () => {
    const { gate, clock, changes, enter, fail } = openGate()
    fail(backend)
    clock.ms = 1_000
    const probe = enter(backend)
    probe.begin('in_time')
    const others = [enter(backend), enter(backend)]
    for (const other of others) other.begin('in_time')
    clock.ms = 5_000
    probe.end({ failed: { retryAfterMs: null, trouble: 'cut' } })
    expect(gate.enter(backend, first)).toEqual({ kind: 'closed', why: 'cooling_down', waitMs: 2_000 })
    expect(changes).toEqual(['a cooldown'])
    clock.ms = 7_000
    enter(backend).begin('in_time')
    others[0]?.end('good') // only a whole answer ends the doubling
    expect(changes).toEqual(['a cooldown', 'a recovered'])
    fail(backend)
    expect(gate.enter(backend, first)).toMatchObject({ waitMs: 1_000 })
  })

  test('does not open for a stream that was sent before the cooldown and begins during it', () => {
    const { gate, enter, fail } = openGate()
    const early = enter(backend)
    fail(backend)
    early.begin('in_time')
    expect(gate.enter(backend, first)).toMatchObject({ why: 'cooling_down' })
  })

  test('never lets a request through to a provider that asked for a pause', () => {
    const { gate, clock, enter } = openGate()
    enter(backend).end({ failed: { retryAfterMs: 7_000, trouble: 'overloaded' } })
    clock.ms = 2_000
    expect(gate.enter(backend, { attempt: 'first', cooldown: 'ignore' })).toEqual({
      kind: 'closed',
      why: 'asked',
      waitMs: 5_000,
    })
    clock.ms = 7_000
    enter(backend)
  })

  test('shares a provider’s limit between the live gateways, over all its backends', () => {
    const { gate } = openGate({ liveGateways: () => 4 })
    const limited = { name: 'p', requestsPerMinute: 80 }
    const backends = [aBackend('a', 0, 1, limited), aBackend('b', 0, 1, limited)]
    const outcomes = Array.from({ length: 4 }, (_, n) => {
      const entered = gate.enter(backends[n % 2] ?? expect.fail(), first)
      return entered.kind === 'open' ? 'open' : entered.why
    })
    expect(outcomes).toEqual(['open', 'open', 'rate_limited', 'rate_limited']) // a tenth of 20 at once
  })

  test('takes nothing of a provider’s limit for an attempt whose calls do not fit, or for calls after its end', () => {
    const { gate, enter } = openGate()
    const limited = aBackend('a', 0, 1, { name: 'p', requestsPerMinute: 10 }) // one at once
    for (let n = 0; n < 5; n += 1) {
      const pass = enter(limited)
      expect(pass.furtherCalls.reserve(500, 60_000)).toMatchObject({ retryAfterMs: null })
      pass.end('unknown')
    }
    const pass = enter(limited)
    expect(pass.furtherCalls.reserve(1, 60_000)).toBeUndefined()
    expect(gate.enter(limited, first)).toMatchObject({ why: 'rate_limited' })
    pass.furtherCalls.onTurn(() => expect.fail('it is over'))
    pass.end('unknown')
  })

  test('lets retries through as far as the budget goes, and requests always', () => {
    const { gate, enter } = openGate()
    const outcomes = Array.from({ length: 30 }, () => {
      const entered = gate.enter(backend, { attempt: 'retry', cooldown: 'respect' })
      if (entered.kind === 'open') entered.end('unknown')
      return entered.kind
    })
    expect(outcomes.filter((kind) => kind === 'open')).toHaveLength(10)
    enter(backend).end('good')
  })
})

describe('the report about a provider', () => {
  const provider = aBackend('p', 0, 1).provider
  const at = (model: string, from = provider): Backend => {
    const backend = { ...aBackend(model, 0, 1), provider: from }
    return { ...backend, dialect: { ...backend.dialect, model } }
  }
  const [hot, rare] = [at('hot'), at('rare')]
  const unauthorized: Verdict = { failed: { retryAfterMs: null, trouble: 'unauthorized' } }
  const routesTo = (...backends: Backend[]) => ({
    routes: [aRoute('m/x', { backends })],
    providers: backends.map((backend) => backend.provider),
  })

  /** A gate where a key that is no good has been tried at these deployments. */
  function withBadKey(...deployments: Backend[]) {
    const opened = openGate()
    opened.gate.follow(routesTo(hot, rare))
    for (const deployment of deployments)
      for (let n = 0; n < 5; n += 1) opened.enter(deployment).end(unauthorized)
    opened.clock.ms = 1_000
    return { ...opened, told: () => told(opened.gate).unhealthy }
  }

  test('is nothing once another deployment there has answered well; who still fails does so for itself', () => {
    const { enter, clock, told } = withBadKey(hot, rare)
    expect(told()).toEqual({ p: 'unauthorized', 'p hot': 'unauthorized', 'p rare': 'unauthorized' })
    enter(hot).end('good')
    expect(told()).toEqual({ 'p rare': 'unauthorized' })
    clock.ms = 86_400_000
    for (let n = 0; n < 5; n += 1) enter(hot).end(unauthorized)
    expect(told()).toMatchObject({ p: 'unauthorized' })
  })

  test('is nothing once a stream has begun there, but that streams are cut is only ended by a whole one', () => {
    const { enter, clock, told } = withBadKey(hot)
    const stream = enter(hot)
    stream.begin('in_time')
    expect(told()).toEqual({})
    stream.end({ failed: { retryAfterMs: null, trouble: 'cut' } })
    clock.ms = 10_000
    const probe = enter(hot)
    probe.begin('in_time')
    expect(told()).toMatchObject({ 'p hot': 'cut' })
    probe.end('good')
    expect(told()).toEqual({})
  })

  test('is the first refusal of its key, until it answers well or has another document', () => {
    const { gate, clock, enter } = openGate()
    gate.follow(routesTo(hot, rare))
    expect(told(gate)).toEqual({ unhealthy: {}, answering: [] })
    enter(hot).end(unauthorized)
    expect(told(gate).unhealthy).toEqual({ p: 'unauthorized', 'p hot': 'unauthorized' })
    expect(gate.enter(hot, first).kind).toBe('open')
    enter(hot).end({ failed: { retryAfterMs: null, trouble: 'timeout' } }) // proves nothing about the key
    expect(told(gate).unhealthy).toMatchObject({ p: 'unauthorized' })
    clock.ms = 1
    enter(rare).end('good')
    expect(told(gate)).toEqual({ unhealthy: {}, answering: ['p'] })
    gate.follow(routesTo(at('hot', { ...provider, headers: { authorization: 'Bearer new' } })))
    expect(told(gate)).toEqual({ unhealthy: {}, answering: [] })
  })

  test('does not count a single rejection among good answers, which is that of one request; a lasting one is reported', () => {
    const { gate, clock, enter } = openGate()
    enter(hot).end('good')
    clock.ms = 1_000
    enter(hot).end(unauthorized)
    expect(told(gate)).toEqual({ unhealthy: {}, answering: ['p'] })
    clock.ms = 2_001
    expect(told(gate).unhealthy).toMatchObject({ p: 'unauthorized' })
    enter(hot).begin('in_time') // a stream disproves it before it ends
    expect(told(gate).unhealthy).toEqual({})
    for (let n = 0; n < 4; n += 1) enter(hot).end(unauthorized) // with the first one these are five
    expect(told(gate).unhealthy).toMatchObject({ p: 'unauthorized' })
  })

  test('is not that it answers where only its former document was answered', () => {
    const { gate, enter } = openGate()
    gate.follow(routesTo(hot))
    const early = enter(hot)
    gate.follow(routesTo(at('hot', { ...provider, headers: { authorization: 'Bearer new' } })))
    early.begin('in_time')
    early.end('good')
    expect(told(gate).answering).toEqual([])
  })

  test('counts against it, although an answer ends well that was asked for before', () => {
    const { gate, enter } = openGate()
    const early = enter(hot)
    for (let n = 0; n < 5; n += 1) enter(rare).end(unauthorized)
    early.end('good')
    expect(told(gate).unhealthy).toMatchObject({ p: 'unauthorized' })
  })

  test('is nothing of deployments that no route leads to any more', () => {
    const { gate, told } = withBadKey(rare)
    gate.follow(routesTo(hot, rare))
    expect(told()).toMatchObject({ p: 'unauthorized' })
    gate.follow(routesTo(hot))
    expect(told()).toEqual({})
  })

  test('starts over with another credential: no cooldown, and what the old one still earns is not learned', () => {
    const { gate, enter, told } = withBadKey(rare)
    const early = [0, 1, 2, 3, 4, 5].map(() => enter(hot))
    const rotated = { ...provider, headers: { authorization: 'Bearer new' } }
    const [newHot, newRare] = [at('hot', rotated), at('rare', rotated)]
    gate.follow(routesTo(newHot, newRare))
    for (const pass of early.slice(1)) pass.end(unauthorized)
    expect(told()).toEqual({})
    expect(gate.enter(newRare, first).kind).toBe('open')
    expect(gate.inFlight(newHot)).toBe(1)
  })
})

describe('the target that is chosen', () => {
  const a = aBackend('a', 0, 1)
  const b = aBackend('b', 1, 1)
  const model = aRoute('m/x', { backends: [a, b], attempts: 4 })
  const targets = [a, b].map((backend) => ({ route: model, backend }))
  const nameOf = (chosen: ReturnType<typeof chooseTarget>) =>
    chosen.kind === 'chosen' ? chosen.target.backend.name : chosen.closed.map(({ why }) => why).join()

  test('is the first that is open', () => {
    const { gate, fail } = openGate()
    expect(nameOf(chooseTarget(targets, [], gate))).toBe('a')
    fail(a)
    expect(nameOf(chooseTarget(targets, [], gate))).toBe('b')
  })

  test('is the one that is free first when all cool down: an outage that we cause is worse', () => {
    const { gate, clock, fail } = openGate()
    fail(b)
    clock.ms = 10
    fail(a)
    expect(nameOf(chooseTarget(targets, [], gate))).toBe('b')
  })

  test('is not one where this request has failed already', () => {
    const { gate, fail } = openGate()
    fail(a)
    const failed = [
      { target: { route: model, backend: a }, failure: expect.anything() },
    ] as unknown as Parameters<typeof chooseTarget>[1]
    expect(nameOf(chooseTarget(targets.slice(0, 1), failed, gate))).toBe('cooling_down')
  })

  test('is none while every provider asks to be left alone', () => {
    const { gate, enter } = openGate()
    for (const backend of [a, b])
      enter(backend).end({ failed: { retryAfterMs: 5_000, trouble: 'overloaded' } })
    expect(nameOf(chooseTarget(targets, [], gate))).toBe('asked,asked')
  })
})
