import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Superseded } from '#core/audit/cluster-epoch'
import { createOperatorMetrics, observeQueue, showState } from '#operator/metrics'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { createEventRecorder } from '#operator/runtime/event-recorder'
import { createReflector, type Reflector } from '#operator/runtime/reflector'
import { leases, secrets } from '#operator/runtime/resources'
import { type RunningControllers, type RunOptions, runControllers } from '#operator/runtime/run-controllers'
import { clusterOfThisFile } from '../support/cluster.ts'

const { kubeConfig, createNamespace } = await clusterOfThisFile()
type Controller = RunOptions['controllers'][number]

const times = { lengthMs: 3_000, renewDeadlineMs: 2_000, retryMs: 200 }
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

/** An operator of one controller that looks at the Secrets of one namespace. It ends with this test. */
function operatorOfThisTest(
  namespace: string,
  reconcile: Controller['reconcile'],
  options: {
    readonly begin?: () => Promise<void>
    readonly keys?: Controller['keys']
    readonly resyncMs?: number
    /** In addition to the Secrets of the namespace. */
    readonly reflectors?: RunOptions['reflectors']
    readonly recorder?: RunOptions['recorder']
  } = {},
) {
  const client = createClusterClient(kubeConfig)
  const metrics = createOperatorMetrics()
  const ends: number[] = []
  const reflector = createReflector({
    client,
    resource: secrets,
    namespaces: [namespace],
    onChange: (key) => running.loop.add('secret', key),
    onError: () => undefined,
  })
  const running: RunningControllers = runControllers({
    kubeConfig,
    lease: { namespace, name: 'operator' },
    identity: randomBytes(8).toString('hex'),
    times,
    reflectors: [reflector, ...(options.reflectors ?? [])],
    recorder: options.recorder ?? createEventRecorder(client, { instance: 'test', onError: () => undefined }),
    controllers: [
      {
        name: 'secret',
        reconcile,
        keys:
          options.keys ??
          (async () => reflector.list().map(({ metadata }) => `${namespace}/${metadata.name}`)),
      },
    ],
    resyncMs: options.resyncMs ?? 600_000,
    mayLead: Promise.resolve(),
    observerOf: (name) => observeQueue(metrics, name),
    begin: options.begin ?? (async () => undefined),
    end: (exitCode) => ends.push(exitCode),
    log,
  })
  onTestFinished(async () => {
    await running.stop()
    await client.close()
  })
  return { running, reflector, metrics, ends, client }
}

async function namespaceWith(...names: readonly string[]): Promise<string> {
  const namespace = await createNamespace()
  const client = createClusterClient(kubeConfig)
  onTestFinished(() => client.close())
  for (const name of names) await client.create(secrets, { metadata: { name, namespace } })
  return namespace
}

test('a leader looks at everything there is, once, and then at each change; a standby is ready and does nothing', async () => {
  const namespace = await namespaceWith('a', 'b')
  const seen: string[] = []
  const first = operatorOfThisTest(namespace, async (key) => {
    seen.push(key)
  })
  await vi.waitFor(() => expect(seen.sort()).toEqual([`${namespace}/a`, `${namespace}/b`]))
  const standby = operatorOfThisTest(namespace, () => Promise.reject(new Error('not the leader')))
  await vi.waitFor(() => expect(standby.running.notReady()).toBeUndefined())
  await first.client.create(secrets, { metadata: { name: 'c', namespace } })
  await vi.waitFor(() => expect(seen.length).toBe(3))
  await vi.waitFor(() => expect(standby.reflector.list().length).toBe(3))
  expect([first.running.isLeader(), standby.running.isLeader()]).toEqual([true, false])
  expect([first.running.notAlive(), standby.running.notAlive()]).toEqual([undefined, undefined])
  expect(await standby.metrics.registry.metrics()).not.toContain('controller_runtime_reconcile_total{')
})

test('on SIGTERM what runs ends first and nothing more begins, then the Lease is free, then the next one leads', async () => {
  const namespace = await namespaceWith('a')
  const story: string[] = []
  const { promise: finish, resolve: finishRun } = Promise.withResolvers<void>()
  const first = operatorOfThisTest(namespace, async (key) => {
    story.push(`first begins ${key.split('/')[1]}`)
    await finish
    story.push('first ends')
  })
  await vi.waitFor(() => expect(story).toEqual(['first begins a']))
  const second = operatorOfThisTest(namespace, async (key) => {
    story.push(`second sees ${key.split('/')[1]}`)
  })
  await second.reflector.synced
  const stopped = first.running.stop()
  expect(first.running.notReady()).toBe('stopping')
  await first.client.create(secrets, { metadata: { name: 'b', namespace } })
  await vi.waitFor(() => expect(second.reflector.list().length).toBe(2))
  const lease = { namespace, name: 'operator' }
  const holder = JSON.stringify((await second.client.find(leases, lease))?.spec)
  expect(holder).not.toContain('"holderIdentity":""')
  finishRun()
  await stopped
  await vi.waitFor(() => expect(story.length).toBe(4))
  expect(story.slice(0, 2)).toEqual(['first begins a', 'first ends'])
  expect(story.slice(2).sort()).toEqual(['second sees a', 'second sees b'])
  expect(first.reflector.list().length).toBe(1)
  expect(first.ends).toEqual([])
})

test('nothing is done before the epoch is taken, however often that fails', async () => {
  const namespace = await namespaceWith('a')
  const story: string[] = []
  const { running } = operatorOfThisTest(
    namespace,
    async () => {
      story.push('reconcile')
    },
    {
      async begin() {
        story.push('begin')
        if (story.length < 3) throw new Error('no database')
      },
    },
  )
  await vi.waitFor(() => expect(story).toEqual(['begin', 'begin', 'begin', 'reconcile']))
  expect(running.isLeader()).toBe(true)
})

/** A reflector of nothing, in the given state. */
function stillReflector(state: Partial<Reflector>): Reflector {
  const reflector = createReflector({
    client: createClusterClient(kubeConfig),
    resource: secrets,
    namespaces: [],
    onChange: () => undefined,
    onError: () => undefined,
  })
  return { ...reflector, ...state }
}

test('who has not seen everything yet is not ready and does not lead', async () => {
  const namespace = await namespaceWith('a')
  const { promise: synced, resolve: sync } = Promise.withResolvers<void>()
  const blind = operatorOfThisTest(namespace, async () => undefined, {
    reflectors: [stillReflector({ synced })],
  })
  await blind.reflector.synced
  const later = operatorOfThisTest(namespace, async () => undefined)
  await vi.waitFor(() => expect(later.running.isLeader()).toBe(true))
  expect(blind.running.notReady()).toBe('still listing objects from the API server')
  sync()
  await later.running.stop()
  await vi.waitFor(() => expect(blind.running.isLeader()).toBe(true))
  expect(blind.running.notReady()).toBeUndefined()
})

test('a watch that has not even tried for three minutes is no life, and a shorter silence is no death', async () => {
  const namespace = await namespaceWith()
  let stuckMs = 180_000
  const { running } = operatorOfThisTest(namespace, async () => undefined, {
    reflectors: [stillReflector({ stuckMs: () => stuckMs })],
  })
  expect(running.notAlive()).toBeUndefined()
  stuckMs = 180_001
  expect(running.notAlive()).toBe('the watch of secrets is stuck')
})

test('an epoch that is being taken on SIGTERM is waited for before the Lease is free: it would end the next leader', async () => {
  const namespace = await namespaceWith('a')
  const { promise: database, resolve: answer } = Promise.withResolvers<void>()
  const seen: string[] = []
  let hasBegun = false
  const { running, client } = operatorOfThisTest(
    namespace,
    async (key) => {
      seen.push(key)
    },
    {
      async begin() {
        hasBegun = true
        await database
      },
    },
  )
  await vi.waitFor(() => expect(hasBegun).toBe(true))
  let isStopped = false
  const stopped = running.stop().then(() => {
    isStopped = true
  })
  const lease = { namespace, name: 'operator' }
  const held = (await client.find(leases, lease))?.metadata.resourceVersion
  await vi.waitFor(async () => {
    const found = await client.find(leases, lease)
    expect(found?.metadata.resourceVersion).not.toBe(held)
    expect(found?.spec).not.toMatchObject({ holderIdentity: '' })
  })
  expect(isStopped).toBe(false)
  answer()
  await stopped
  expect((await client.find(leases, lease))?.spec).toMatchObject({ holderIdentity: '' })
  expect(seen).toEqual([])
})

test('what happened last is written as an event before the process ends', async () => {
  const namespace = await namespaceWith('a')
  const { promise: written, resolve: write } = Promise.withResolvers<void>()
  let isFlushed = false
  const { running } = operatorOfThisTest(namespace, async () => undefined, {
    recorder: {
      record: () => undefined,
      async flush() {
        await written
        isFlushed = true
      },
    },
  })
  const stopped = running.stop()
  write()
  await stopped
  expect(isFlushed).toBe(true)
})

test('a leader that lost its Lease ends', async () => {
  const namespace = await namespaceWith('a')
  const { running, client, ends } = operatorOfThisTest(namespace, async () => undefined)
  await vi.waitFor(() => expect(running.isLeader()).toBe(true))
  await vi.waitFor(async () => {
    const found = await client.find(leases, { namespace, name: 'operator' })
    if (found === undefined) throw new Error('no Lease')
    const spec = { holderIdentity: 'another', leaseDurationSeconds: 3_600 }
    expect(await client.replace(leases, { ...found, spec })).toMatchObject({ spec })
  })
  await vi.waitFor(() => expect(ends).toEqual([1]))
})

test('a process whose epoch is over ends', async () => {
  const namespace = await namespaceWith('a')
  const { ends } = operatorOfThisTest(namespace, () =>
    Promise.reject(new Superseded({ clusterId: 'c', epoch: 1n })),
  )
  await vi.waitFor(() => expect(ends[0]).toBe(1))
})

test('everything is checked again after the time of a resync, also without events', async () => {
  const namespace = await namespaceWith('a')
  const seen: string[] = []
  operatorOfThisTest(
    namespace,
    async (key) => {
      seen.push(key)
    },
    { resyncMs: 100, keys: async () => ['x/gone'] },
  )
  await vi.waitFor(() => expect(seen.filter((key) => key === 'x/gone').length).toBeGreaterThan(3))
})

test('an unchanged object is reconciled once, and its key is asked for again when that failed', async () => {
  const namespace = await namespaceWith('a')
  const seen: string[] = []
  let asked = 0
  const { running } = operatorOfThisTest(
    namespace,
    async (key) => {
      seen.push(key)
    },
    {
      async keys() {
        asked += 1
        if (asked === 1) throw new Error('no database')
        return [`${namespace}/a`]
      },
    },
  )
  await vi.waitFor(() => expect(seen).toEqual([`${namespace}/a`]))
  expect(asked).toBe(2)
  expect(running.loop.queues.get('secret')?.depth).toBe(0)
})

test('what happens is counted under the names that dashboards for operators know', async () => {
  const namespace = await namespaceWith('a')
  const { running, reflector, metrics } = operatorOfThisTest(namespace, () => Promise.reject(new Error('no')))
  await vi.waitFor(async () =>
    expect(await metrics.registry.metrics()).toMatch(
      /reconcile_total\{controller="secret",result="error"\} [2-9]/,
    ),
  )
  showState(metrics, {
    leaseName: 'operator',
    isLeader: running.isLeader(),
    queues: running.loop.queues,
    reflectors: [reflector],
  })
  const text = await metrics.registry.metrics()
  for (const series of [
    'controller_runtime_reconcile_errors_total{controller="secret"}',
    'controller_runtime_reconcile_time_seconds_count{controller="secret"}',
    'controller_runtime_active_workers{controller="secret"} 0',
    'controller_runtime_max_concurrent_reconciles{controller="secret"} 4',
    'workqueue_depth{name="secret"} 0',
    'workqueue_adds_total{name="secret"}',
    'workqueue_retries_total{name="secret"}',
    'workqueue_queue_duration_seconds_count{name="secret"}',
    'workqueue_work_duration_seconds_count{name="secret"}',
    'workqueue_unfinished_work_seconds{name="secret"} 0',
    'workqueue_longest_running_processor_seconds{name="secret"} 0',
    'leader_election_master_status{name="operator"} 1',
    'nodejs_eventloop_lag_seconds',
    'model_gateway_operator_watch_last_activity_timestamp_seconds{resource="secrets"} 1',
  ])
    expect(text).toContain(series)
})
