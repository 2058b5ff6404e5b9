import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createAddressGuard } from '#core/catalog/address-guard'
import { startHealthChecks } from '#gateway/health-checks/health-checks'
import { createAttemptGate } from '#gateway/routing/attempt-gate'
import { healthReportOf } from '#gateway/routing/health-report'
import { aBackend } from '#gateway/routing/made-up-route.fixture'
import { createRouteTable, type Provider } from '#gateway/routing/route-table'
import { createProviderAgents } from '#gateway/upstream/provider-agents'
import { createProviderCalls } from '#gateway/upstream/provider-call'
import { listed, refusal, type Script, startUpstream, type Upstream } from '../support/upstream.ts'

const calls = createProviderCalls(createProviderAgents(createAddressGuard(['127.0.0.0/8'])))
const list = '/models'
let upstream: Upstream

beforeAll(async () => {
  upstream = await startUpstream()
})

afterAll(async () => {
  await calls.close()
  await upstream.stop()
})

/**
 * A gateway that serves the provider `p`, by default as the only gateway, with a clock that the test moves.
 */
function startChecks(
  fields: Partial<Provider> = {},
  { instanceId = 'us', gateways = ['us'] }: { instanceId?: string; gateways?: readonly string[] } = {},
) {
  const clock = { ms: 1 }
  const results: string[] = []
  const made = (change: Partial<Provider>) =>
    aBackend('p', 0, 1, { baseUrl: upstream.url, healthCheck: 'ListModels', ...fields, ...change }).provider
  let provider = made({})
  let table = createRouteTable('1', [], [provider])
  const gate = createAttemptGate({
    nowMs: () => clock.ms,
    liveGateways: () => 1,
    onClosed: () => {},
    onChange: () => {},
  })
  gate.follow(table)
  const checks = startHealthChecks({
    calls,
    gate,
    table: () => table,
    gateways: () => gateways,
    instanceId,
    connectMs: 1_000,
    onChecked: (_, result) => results.push(result),
    onCrash: (error) => results.push(String(error)),
    nowMs: () => clock.ms,
    random: () => 0.5,
  })
  onTestFinished(checks.stop)
  return {
    clock,
    results,
    told: () => healthReportOf(gate.deployments(), gate.providers()),
    /** Resolves once it was checked so often. */
    checked: (times: number) => vi.waitFor(() => expect(results).toHaveLength(times)),
    change(next: Partial<Provider>) {
      provider = made(next)
      table = createRouteTable('2', [], [provider])
      gate.follow(table)
    },
    serveWell() {
      const entered = gate.enter(
        { ...aBackend('p', 0, 1), provider },
        { attempt: 'first', cooldown: 'respect' },
      )
      if (entered.kind === 'open') entered.end('good')
    },
  }
}

/** The provider's responses when its models are listed. */
function answer(...scripts: readonly [Script, ...Script[]]): void {
  const earlier = upstream.requestsFor(list).length
  upstream.answer(
    list,
    (_, attempt) => scripts[Math.min(attempt - earlier, scripts.length - 1)] ?? scripts[0],
  )
}

test('a provider is listed once with its credential, and again after a change and after 10 minutes', async () => {
  answer(listed('m'))
  const before = upstream.requestsFor(list).length
  const { clock, change, checked, told } = startChecks({ headers: { authorization: 'Bearer one' } })
  await checked(1)
  expect(told()).toEqual({ unhealthy: {}, answering: ['p'] })
  clock.ms += 599_000
  change({ headers: { authorization: 'Bearer two' } })
  expect(told().answering).toEqual([])
  await checked(2)
  clock.ms += 600_000
  await checked(3)
  const requests = upstream.requestsFor(list).slice(before)
  expect(requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer one',
    'Bearer two',
    'Bearer two',
  ])
  expect(
    requests.every(({ bodyText, headers }) => bodyText === '' && headers['content-type'] === undefined),
  ).toBe(true)
})

test('of several gateways one lists a provider, and none one that does not ask for it', async () => {
  answer(listed('m'))
  const gateways = ['a', 'b', 'c', 'd', 'e']
  const quiet = startChecks({ healthCheck: undefined })
  const checks = gateways.map((instanceId) => startChecks({}, { instanceId, gateways }))
  const results = () => checks.flatMap((each) => each.results)
  await vi.waitFor(() => expect(results()).toEqual(['listed']))
  await startChecks().checked(1) // all of them have looked by then
  expect(results()).toEqual(['listed'])
  expect(quiet.results).toEqual([])
})

test('a rejected credential is reported at once, and successful requests end it', async () => {
  answer(refusal(401, 'no such key'))
  const { checked, told, results, clock, serveWell } = startChecks()
  await checked(1)
  expect(results).toEqual(['status_401'])
  expect(told()).toEqual({ unhealthy: { p: 'unauthorized' }, answering: [] })
  clock.ms += 1
  serveWell()
  expect(told()).toEqual({ unhealthy: {}, answering: ['p'] })
})

test('one failure is not reported: the check is repeated 10 s later', async () => {
  answer({ status: 500 }, { status: 500 }, listed('m'))
  const { checked, told, clock } = startChecks()
  await checked(1)
  expect(told()).toEqual({ unhealthy: {}, answering: [] })
  clock.ms += 10_000
  await checked(2)
  expect(told()).toEqual({ unhealthy: { p: 'failed' }, answering: [] })
  clock.ms += 600_000
  await checked(3)
  expect(told()).toEqual({ unhealthy: {}, answering: ['p'] })
})

test('a missing list accuses a provider that has never served, and none that has', async () => {
  answer(refusal(404, 'no such path'))
  const { checked, told, clock, serveWell } = startChecks()
  await checked(1)
  clock.ms += 10_000
  await checked(2)
  expect(told()).toEqual({ unhealthy: { p: 'misrouted' }, answering: [] })
  clock.ms += 1
  serveWell()
  clock.ms += 600_000
  await checked(3)
  expect(told()).toEqual({ unhealthy: {}, answering: ['p'] })
})

test.each([
  ['a page', { steps: [{ send: '<!doctype html>' }] }, 'no_list'],
  ['something else in JSON', { steps: [{ send: '{"status":"ok"}' }] }, 'no_list'],
  ['an error with status 200', { steps: [{ send: '{"error":{"message":"x"}}' }] }, 'error_in_answer'],
  ['a redirect', { status: 302, headers: { location: '/elsewhere' } }, 'status_302'],
  ['an endless page', { steps: [{ send: 'x'.repeat(300_000) }, { stall: true }] }, 'no_list'],
  ['an overload', { status: 429, headers: { 'retry-after': '1' } }, 'status_429'],
] as const)('%s is no list', async (_, script, result) => {
  answer(script)
  const { checked, results, told } = startChecks()
  await checked(1)
  expect(results).toEqual([result])
  expect(told()).toEqual({ unhealthy: {}, answering: [] })
})

test('of a long list only the beginning is read', async () => {
  const start = `{"object":"list","data":[${'{"id":"m"},'.repeat(10_000)}`
  answer({ steps: [{ send: start }, { stall: true }] })
  const { checked, results } = startChecks()
  await checked(1)
  expect(results).toEqual(['listed'])
  await vi.waitFor(() => expect(upstream.requestsFor(list).at(-1)?.state).toBe('left'))
})

test('a check takes a place in the limit of its provider, and waits while there is none', async () => {
  answer(listed('m'))
  const limited = startChecks({ requestsPerMinute: 1 })
  limited.serveWell() // before the first look
  await startChecks().checked(1)
  expect(limited.results).toEqual([])
  limited.clock.ms += 120_000
  await limited.checked(1)
})
