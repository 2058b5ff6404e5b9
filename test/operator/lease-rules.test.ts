import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { createClusterClient } from '#operator/runtime/cluster-client'
import type { ClusterObject } from '#operator/runtime/cluster-object'
import { createLeaderElector, type LeaderElectorOptions } from '#operator/runtime/leader-elector'
import { leases } from '#operator/runtime/resources'
import { clusterOfThisFile } from '../support/cluster.ts'
import { scriptedApiServerOfThisTest } from './scripted-api-server.ts'

// What one elector does with a Lease in the hands of others. `leader-elector.test.ts` has several that compete.
const { kubeConfig } = await clusterOfThisFile()
const client = createClusterClient(kubeConfig)
afterAll(() => client.close())

const times = { lengthMs: 3_000, renewDeadlineMs: 2_000, retryMs: 100 }
const newName = () => ({ namespace: 'default', name: `lease-${randomBytes(6).toString('hex')}` })

/** An elector in this process that has started, and its reports. It is released with this test. */
function electorOfThisTest(
  options: Partial<LeaderElectorOptions> & { readonly through?: typeof kubeConfig } = {},
) {
  const said: string[] = []
  const elector = createLeaderElector(options.through ?? kubeConfig, {
    lease: newName(),
    identity: 'we',
    times,
    onElected: () => said.push('elected'),
    onLost: () => said.push('lost'),
    onError: () => said.push('unanswered'),
    ...options,
  })
  elector.start()
  onTestFinished(() => elector.release())
  return { elector, said }
}

async function make(lease: ReturnType<typeof newName>, spec: object): Promise<void> {
  await client.create(leases, { metadata: lease, spec })
}

/** Another client writes into the Lease, with any holder. */
async function write(lease: ReturnType<typeof newName>, spec: object): Promise<void> {
  await vi.waitFor(async () => {
    const found = await client.find(leases, lease)
    if (found === undefined) throw new Error('no Lease')
    expect(await client.replace(leases, { ...found, spec })).toMatchObject({ kind: 'Lease' })
  })
}

const specOf = async (lease: ReturnType<typeof newName>) => (await client.find(leases, lease))?.spec

/** Blocks the event loop, as a long garbage collection or a frozen machine does. */
function standStill(untilMs: number): void {
  while (performance.now() < untilMs);
}

/** Longer than any test: no time of the Lease passes by itself. */
const hourS = 3_600

test('a Lease without a holder is taken at once, however long its last holder had it, and counts its holders', async () => {
  const lease = newName()
  await make(lease, { holderIdentity: '', leaseDurationSeconds: hourS, leaseTransitions: 7 })
  const { said } = electorOfThisTest({ lease })
  await vi.waitFor(() => expect(said).toEqual(['elected']), { timeout: 2_000 })
  expect(await specOf(lease)).toMatchObject({
    holderIdentity: 'we',
    leaseDurationSeconds: 3,
    leaseTransitions: 8,
    acquireTime: expect.any(String),
  })
})

test.each(['1970-01-01T00:00:00.000000Z', '2100-01-01T00:00:00.000000Z'])(
  'the clock of its holder, %s, makes a Lease neither longer nor shorter: it is over when nobody changed it for its length',
  async (renewTime) => {
    const lease = newName()
    await make(lease, { holderIdentity: 'another', leaseDurationSeconds: 1, renewTime })
    const startedAtMs = performance.now()
    const { said } = electorOfThisTest({ lease })
    await vi.waitFor(() => expect(said).toEqual(['elected']), { timeout: 10_000 })
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(1_000)
  },
)

test('a leader whose Lease has another name in it is none any more, at once and for good, and leaves it to that one', async () => {
  const lease = newName()
  const patient = { lengthMs: 7_200_000, renewDeadlineMs: hourS * 1_000, retryMs: 100 }
  const asked = { us: 0, nextOne: 0 }
  const { elector, said } = electorOfThisTest({ lease, times: patient, onRequest: () => void asked.us++ })
  await vi.waitFor(() => expect(elector.isLeader()).toBe(true))
  const spec = { holderIdentity: 'another', leaseDurationSeconds: hourS }
  await write(lease, spec)
  await vi.waitFor(() => expect(said).toEqual(['elected', 'lost']), { timeout: 5_000 })
  expect(elector.isLeader()).toBe(false)
  const before = asked.us
  electorOfThisTest({ lease, identity: 'next', times: patient, onRequest: () => void asked.nextOne++ })
  await vi.waitFor(() => expect(asked.nextOne).toBeGreaterThan(5))
  await elector.release()
  expect([asked.us, said, await specOf(lease)]).toEqual([before, ['elected', 'lost'], spec])
})

test('a release leaves the Lease to a holder that took it in the meantime', async () => {
  const lease = newName()
  const rare = { lengthMs: 7_200_000, renewDeadlineMs: hourS * 1_000, retryMs: 1_000_000 }
  const { elector, said } = electorOfThisTest({ lease, times: rare })
  await vi.waitFor(() => expect(said).toEqual(['elected']))
  await write(lease, { holderIdentity: 'another', leaseDurationSeconds: hourS })
  await elector.release()
  expect(await specOf(lease)).toEqual({ holderIdentity: 'another', leaseDurationSeconds: hourS })
})

test('a leader that renews its Lease leads on when the deadline of an earlier renewal is over', async () => {
  let electedAtMs = Number.POSITIVE_INFINITY
  let hasRenewedLate = false
  const said: string[] = []
  const { elector } = electorOfThisTest({
    onElected() {
      electedAtMs = performance.now()
    },
    onLost: () => said.push('lost'),
    onRequest(_code, method) {
      if (method === 'PUT' && performance.now() > electedAtMs + times.renewDeadlineMs) hasRenewedLate = true
    },
  })
  await vi.waitFor(() => expect(hasRenewedLate).toBe(true), { timeout: 10_000 })
  expect([said, elector.isLeader()]).toEqual([[], true])
})

test('a process that stood still for longer than its deadline knows at once that it leads no more', async () => {
  const { elector } = electorOfThisTest()
  await vi.waitFor(() => expect(elector.isLeader()).toBe(true))
  standStill(performance.now() + times.renewDeadlineMs)
  expect(elector.isLeader()).toBe(false)
})

/** A server of one Lease that is there or not; `beforeAnswer` may hold the answer of a write back, or give another one. */
async function leaseServerOfThisTest(
  initial: 'missing' | 'unheld',
  beforeAnswer: (response: ServerResponse) => void | Promise<void>,
) {
  const metadata = { namespace: 'default', name: 'l', resourceVersion: '1' }
  const { group, version, kind } = leases
  const unheld = { apiVersion: `${group}/${version}`, kind, metadata, spec: { holderIdentity: '' } }
  const writes: { readonly method: string; readonly spec: unknown }[] = []
  let lease: ClusterObject | undefined = initial === 'unheld' ? unheld : undefined
  const server = await scriptedApiServerOfThisTest(async (_url, response, request) => {
    const { method = '' } = request
    if (method !== 'GET') {
      const body = (await json(request)) as ClusterObject
      writes.push({ method, spec: body.spec })
      await beforeAnswer(response)
      if (!response.writableEnded) lease = body
    }
    if (!response.writableEnded)
      response.writeHead(lease === undefined ? 404 : 200).end(JSON.stringify(lease))
  })
  return { ...server, writes }
}

test('a Lease won during the shutdown is released: no operator waits for a stopped one', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const server = await leaseServerOfThisTest('missing', () => answered)
  const { elector, said } = electorOfThisTest({ through: server.kubeConfig })
  await vi.waitFor(() => expect(server.writes.length).toBe(1))
  const released = elector.release()
  answer()
  await released
  expect(said).toEqual([])
  expect(server.writes).toMatchObject([
    { method: 'POST', spec: { holderIdentity: 'we' } },
    { method: 'PUT', spec: { holderIdentity: '' } },
  ])
})

test('an API server that hangs costs the end of a leader half the deadline of a renewal, however much is under way', async () => {
  const hanging = { lengthMs: 6_000, renewDeadlineMs: 4_000, retryMs: 100 }
  const server = await leaseServerOfThisTest('unheld', () =>
    server.writes.length === 1 ? undefined : new Promise(() => {}),
  )
  const { elector, said } = electorOfThisTest({ through: server.kubeConfig, times: hanging })
  await vi.waitFor(() => expect(server.writes.length).toBe(2))
  const startedAtMs = performance.now()
  await elector.release()
  expect(performance.now() - startedAtMs).toBeLessThan(0.75 * hanging.renewDeadlineMs)
  expect(said).toEqual(['elected', 'unanswered', 'unanswered'])
})

test('an elector that never had the Lease asks nothing more when it ends, and ends at once', async () => {
  const lease = newName()
  await make(lease, { holderIdentity: 'another', leaseDurationSeconds: hourS })
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const methods: string[] = []
  const rare = { lengthMs: 7_200_000, renewDeadlineMs: hourS * 1_000, retryMs: 1_000_000 }
  const { elector } = electorOfThisTest({
    lease,
    times: rare,
    onRequest(_code, method) {
      methods.push(method)
      ask()
    },
  })
  await asked
  await elector.release()
  expect(methods).toEqual(['GET'])
})

test.each([
  ['made', 'missing', 409],
  ['changed', 'unheld', 409],
  ['deleted', 'unheld', 404],
] as const)('a Lease that somebody else has %s first is not won', async (_what, initial, status) => {
  const server = await leaseServerOfThisTest(initial, (response) => {
    if (server.writes.length <= 2) response.writeHead(status).end('{}')
  })
  const { said } = electorOfThisTest({ through: server.kubeConfig })
  await vi.waitFor(() => expect(said).toEqual(['elected']))
  expect(server.writes.length).toBe(3)
})

test('a leader counts from when it asked and not from when it was answered: others saw its Lease no later', async () => {
  let askedAtMs = 0
  const server = await leaseServerOfThisTest('unheld', () => {
    askedAtMs = performance.now()
    standStill(askedAtMs + 100)
  })
  const leads: boolean[] = []
  const { elector } = electorOfThisTest({
    through: server.kubeConfig,
    onElected() {
      leads.push(elector.isLeader())
      standStill(askedAtMs + times.renewDeadlineMs)
      leads.push(elector.isLeader())
    },
  })
  await vi.waitFor(() => expect(leads).toEqual([true, false]))
})
