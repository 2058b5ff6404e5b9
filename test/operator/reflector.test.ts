import { createServer } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { KubeConfig } from '@kubernetes/client-node'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { createReflector, type Reflector, type ReflectorOptions } from '#operator/runtime/reflector'
import type { Resource } from '#operator/runtime/resources'
import { ownClusterOfThisFile } from '../support/cluster.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { atPort, portOf } from './cluster-port.ts'
import { listOf, scriptedApiServerOfThisTest, watchLine } from './scripted-api-server.ts'

const { kubeConfig, apiServer, etcd, createNamespace } = await ownClusterOfThisFile()
const client = createClusterClient(kubeConfig)
afterAll(() => client.close())

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }

/** Makes it, however long the servers are unavailable. */
const make = (namespace: string, name: string, data = {}) =>
  vi.waitFor(() => client.apply(configMaps, { metadata: { name, namespace }, data }), { timeout: 30_000 })

const remove = (namespace: string, name: string) =>
  vi.waitFor(
    async () => {
      const object = await client.find(configMaps, { namespace, name })
      if (object !== undefined) await client.remove(configMaps, object)
    },
    { timeout: 30_000 },
  )

/** Least time for so many tries: pauses of 0.5, 1, 2 … s, each halved by chance. */
const leastMsOf = (tries: number) => (500 / 2) * (2 ** (tries - 1) - 1)

/** A reflector that has started, and its reports so far. It ends with this test. */
function reflectorOfThisTest(kubeConfig: KubeConfig, options: Partial<ReflectorOptions> = {}) {
  const ofThis = createClusterClient(kubeConfig)
  const changes: string[] = []
  const errors: unknown[] = []
  const counts = { relists: 0, watches: 0 }
  const reflector = createReflector({
    client: ofThis,
    resource: configMaps,
    namespaces: ['default'],
    onChange: (key) => changes.push(key),
    onError: (error) => errors.push(error),
    observer: {
      relisted() {
        counts.relists += 1
      },
      watched() {
        counts.watches += 1
      },
    },
    ...options,
  })
  reflector.start()
  onTestFinished(async () => {
    await reflector.stop()
    await ofThis.close()
  })
  return { reflector, changes, errors, counts }
}

/** Waits until its watch has reported something: from now on it has a connection that can break. */
async function watching(namespace: string, reflector: Reflector): Promise<void> {
  await make(namespace, 'first')
  await vi.waitFor(() => expect(reflector.find(`${namespace}/first`)).toBeDefined())
}

test('all pages are seen: five objects by two', async () => {
  const namespace = await createNamespace()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await make(namespace, name)
  const { reflector, changes } = reflectorOfThisTest(kubeConfig, { namespaces: [namespace], pageSize: 2 })
  await reflector.synced
  expect(reflector.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(changes.length).toBe(5)
})

test('creations, changes and deletions are reported, and the same object looks the same from list and watch', async () => {
  const namespace = await createNamespace()
  const { reflector, changes } = reflectorOfThisTest(kubeConfig, { namespaces: [namespace] })
  await reflector.synced
  await make(namespace, 'x')
  await vi.waitFor(() => expect(changes.length).toBe(1))
  await make(namespace, 'x', { value: '2' })
  await vi.waitFor(() => expect(reflector.find(`${namespace}/x`)?.data).toEqual({ value: '2' }))
  const { reflector: second } = reflectorOfThisTest(kubeConfig, { namespaces: [namespace] })
  await second.synced
  expect(second.list()).toEqual(reflector.list())
  await remove(namespace, 'x')
  await vi.waitFor(() => expect(reflector.list()).toEqual([]))
  expect(changes).toEqual(Array(3).fill(`${namespace}/x`))
})

test('of several namespaces each is followed, and no other', async () => {
  const [first, second, other] = [await createNamespace(), await createNamespace(), await createNamespace()]
  const { reflector } = reflectorOfThisTest(kubeConfig, { namespaces: [first, second] })
  await reflector.synced
  for (const namespace of [other, first, second]) await make(namespace, 'x')
  await vi.waitFor(() => expect(reflector.list().length).toBe(2))
  expect(reflector.find(`${other}/x`)).toBeUndefined()
})

test('everything was listed when each namespace was, and the list of one takes nothing from the others', async () => {
  let answerSecond = () => {}
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (url.searchParams.has('watch')) return response.flushHeaders()
    const [, namespace = ''] = /namespaces\/([^/]+)/.exec(url.pathname) ?? []
    const list = listOf(['x'], '7').replaceAll('"default"', `"${namespace}"`)
    if (namespace === 'first') return response.end(list)
    answerSecond = () => void response.end(list)
    return undefined
  })
  const { reflector, changes } = reflectorOfThisTest(server.kubeConfig, { namespaces: ['first', 'second'] })
  let isSynced = false
  const synced = reflector.synced.then(() => {
    isSynced = true
  })
  await vi.waitFor(() => expect(server.requests.length).toBe(3))
  expect([changes, isSynced]).toEqual([['first/x'], false])
  answerSecond()
  await synced
  expect(reflector.list().map(({ metadata }) => metadata.namespace)).toEqual(['first', 'second'])
  expect(changes).toEqual(['first/x', 'second/x'])
})

test('a list of many pages is alive with each of them, and one whose rest is gone begins again', async () => {
  const page = (names: readonly string[], continueToken: string) =>
    listOf(names, '7').replace('"metadata":{', `"metadata":{"continue":"${continueToken}",`)
  let answerRest = () => {}
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (url.searchParams.has('watch')) return response.flushHeaders()
    if (url.searchParams.get('continue') === null) return response.end(page(['x'], 'rest'))
    const isFirst = server.requests.length === 2
    answerRest = () => void (isFirst ? response.writeHead(410).end('{}') : response.end(page(['y'], '')))
    if (!isFirst) answerRest()
    return undefined
  })
  const { reflector, errors, changes } = reflectorOfThisTest(server.kubeConfig, { pageSize: 1 })
  expect(reflector.heardAtMs()).toBe(0)
  await vi.waitFor(() => expect(server.requests.length).toBe(2))
  expect(reflector.heardAtMs()).toBeGreaterThan(0)
  answerRest()
  await reflector.synced
  expect(errors.map(String)).toEqual([
    'ClusterUnavailable: A list took so long that its continue token expired.',
  ])
  expect(changes).toEqual(['default/x', 'default/y'])
})

test('a try is life, though it failed, and the scope that tries least is what counts', async () => {
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (!url.pathname.includes('hangs')) response.writeHead(500).end('{}')
  })
  const startedAtMs = performance.now()
  const { reflector } = reflectorOfThisTest(server.kubeConfig, { namespaces: ['fails'] })
  const { reflector: half } = reflectorOfThisTest(server.kubeConfig, { namespaces: ['hangs', 'fails'] })
  await vi.waitFor(() => expect(server.requests.length).toBeGreaterThanOrEqual(5))
  const sinceStartMs = performance.now() - startedAtMs
  expect(sinceStartMs - reflector.stuckMs()).toBeGreaterThan(leastMsOf(2) - 10)
  expect(sinceStartMs - half.stuckMs()).toBeLessThan(leastMsOf(2) - 10)
})

test('changes during a restart of the API server are noticed: a creation and a deletion', async () => {
  const namespace = await createNamespace()
  await make(namespace, 'stays')
  await make(namespace, 'goes')
  const gate = await gateOfThisTest(portOf(kubeConfig))
  const { reflector } = reflectorOfThisTest(atPort(kubeConfig, gate.port), { namespaces: [namespace] })
  await reflector.synced
  gate.holdAnswers() // so that it cannot see what happens while the server is back and it is not
  await apiServer.kill()
  await apiServer.restart()
  await remove(namespace, 'goes')
  await make(namespace, 'comes')
  expect(reflector.find(`${namespace}/goes`)).toBeDefined()
  gate.cut()
  await vi.waitFor(
    () => expect(reflector.list().map(({ metadata }) => metadata.name)).toEqual(['stays', 'comes']),
    { timeout: 30_000 },
  )
})

test('a killed and restarted etcd costs no event', async () => {
  const namespace = await createNamespace()
  await make(namespace, 'stays')
  await make(namespace, 'goes')
  const { reflector } = reflectorOfThisTest(kubeConfig, { namespaces: [namespace] })
  await reflector.synced
  await etcd.kill()
  await etcd.restart()
  await remove(namespace, 'goes')
  await make(namespace, 'comes')
  await vi.waitFor(
    () => expect(reflector.list().map(({ metadata }) => metadata.name)).toEqual(['stays', 'comes']),
    { timeout: 30_000 },
  )
})

test('a connection that is open and silent is given up, and changes during it are noticed', async () => {
  const namespace = await createNamespace()
  const gate = await gateOfThisTest(portOf(kubeConfig))
  const { reflector, counts } = reflectorOfThisTest(atPort(kubeConfig, gate.port), {
    namespaces: [namespace],
    idleMs: 800,
  })
  await watching(namespace, reflector)
  const { watches } = counts
  gate.holdAnswers()
  await make(namespace, 'x')
  await vi.waitFor(() => expect(counts.watches).toBeGreaterThan(watches))
  gate.letAnswersPass()
  await vi.waitFor(() => expect(reflector.find(`${namespace}/x`)).toBeDefined())
  expect(counts.relists).toBe(1)
})

test('a watch in which nothing happens is begun again where it was: that is no error, and no reason to list', async () => {
  const namespace = await createNamespace()
  const { reflector, errors, counts } = reflectorOfThisTest(kubeConfig, {
    namespaces: [namespace],
    idleMs: 100,
  })
  await vi.waitFor(() => expect(counts.watches).toBeGreaterThan(2), { timeout: 20_000 })
  await make(namespace, 'x')
  await vi.waitFor(() => expect(reflector.find(`${namespace}/x`)).toBeDefined())
  expect([errors, counts.relists]).toEqual([[], 1])
})

test('a quiet watch that begins again is activity, a refused one is none, and the quietest namespace is what counts', async () => {
  const refusals: { readonly heardAtMs: number; readonly relists: number; readonly quietWatches: number }[] =
    []
  let isRefusing = false
  let quietWatches = 0
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (!url.searchParams.has('watch')) return response.end(listOf([], '7'))
    const isRefused = isRefusing && url.pathname.includes('refused')
    if (!isRefused) {
      if (url.pathname.includes('quiet')) quietWatches += 1
      return response.flushHeaders()
    }
    // What counts when it is asked: a later refusal would list again.
    refusals.push({ heardAtMs: reflector.heardAtMs(), relists: counts.relists, quietWatches })
    return response.writeHead(503).end('{}')
  })
  const { reflector, counts } = reflectorOfThisTest(server.kubeConfig, {
    namespaces: ['quiet', 'refused'],
    idleMs: 100,
  })
  await reflector.synced
  const listedAtMs = reflector.heardAtMs()
  await vi.waitFor(() => expect(reflector.heardAtMs()).toBeGreaterThan(listedAtMs + 500), { timeout: 20_000 })
  isRefusing = true
  await vi.waitFor(() => expect(refusals.length).toBeGreaterThanOrEqual(3), { timeout: 20_000 })
  const [, second, third] = refusals
  expect(third).toMatchObject({ heardAtMs: second?.heardAtMs, relists: 2 })
  expect(third?.quietWatches).toBeGreaterThan(second?.quietWatches ?? 0)
})

test('a frozen API server is outlasted', async () => {
  const namespace = await createNamespace()
  const { reflector, counts } = reflectorOfThisTest(kubeConfig, { namespaces: [namespace], idleMs: 800 })
  await watching(namespace, reflector)
  const { watches } = counts
  apiServer.freeze()
  await vi.waitFor(() => expect(counts.watches).toBeGreaterThan(watches))
  apiServer.thaw()
  await make(namespace, 'x')
  await vi.waitFor(() => expect(reflector.find(`${namespace}/x`)).toBeDefined(), { timeout: 20_000 })
})

test('a reflector that is stopped while it lists requests and reports nothing more', async () => {
  let answer = () => {}
  const server = await scriptedApiServerOfThisTest((_url, response) => {
    answer = () => void response.end(listOf(['x'], '1'))
  })
  const { reflector, changes, errors } = reflectorOfThisTest(server.kubeConfig)
  await vi.waitFor(() => expect(server.requests.length).toBe(1))
  const stopped = reflector.stop()
  answer()
  await stopped
  expect([changes, errors, reflector.list()]).toEqual([[], [], []])
  expect(server.requests.length).toBe(1)
})

test('a reflector that is stopped while it watches reports nothing more', async () => {
  let pour = () => {}
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (!url.searchParams.has('watch')) return response.end(listOf([], '1'))
    response.flushHeaders()
    pour = () => void response.write(watchLine('ADDED', 'x', '2'))
    return undefined
  })
  const { reflector, changes } = reflectorOfThisTest(server.kubeConfig)
  await vi.waitFor(() => expect(server.requests.length).toBe(2))
  const stopped = reflector.stop()
  pour()
  await stopped
  expect(changes).toEqual([])
  expect(server.requests.length).toBe(2)
})

test('a handler that throws costs a count and no more', async () => {
  const namespace = await createNamespace()
  const seen: string[] = []
  const { reflector, errors, counts } = reflectorOfThisTest(kubeConfig, {
    namespaces: [namespace],
    onChange(key) {
      seen.push(key)
      throw new Error('handler bug')
    },
  })
  await reflector.synced
  await make(namespace, 'x')
  await make(namespace, 'y')
  await vi.waitFor(() => expect(seen).toEqual([`${namespace}/x`, `${namespace}/y`]))
  expect(errors.map(String)).toEqual(['Error: handler bug', 'Error: handler bug'])
  expect(counts).toEqual({ relists: 1, watches: 1 })
})

test('a server that closes every connection at once is asked ever more seldom', async () => {
  const startedAtMs = performance.now()
  const connectedAtMs: number[] = []
  const server = createServer((socket) => {
    connectedAtMs.push(performance.now())
    socket.destroy()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await vi.waitFor(() => expect(server.address()).not.toBeNull())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const { errors, reflector } = reflectorOfThisTest(atPort(kubeConfig, port))
  await vi.waitFor(() => expect(errors.length).toBeGreaterThanOrEqual(3), { timeout: 20_000 })
  expect(connectedAtMs.length).toBeLessThanOrEqual(errors.length)
  expect((connectedAtMs[2] ?? 0) - startedAtMs).toBeGreaterThan(leastMsOf(3))
  const stoppedAtMs = performance.now()
  await reflector.stop() // in the middle of a pause of 1 s or more
  expect(performance.now() - stoppedAtMs).toBeLessThan(500)
})

test('a server that ends every watch at once, and well, is asked ever more seldom', async () => {
  const server = await scriptedApiServerOfThisTest((url, response) =>
    response.end(url.searchParams.has('watch') ? '' : listOf(['x'], '7')),
  )
  const { counts } = reflectorOfThisTest(server.kubeConfig)
  // One list and three watches; a watch is counted before the server has heard of it.
  await vi.waitFor(() => expect(server.requests.length).toBeGreaterThanOrEqual(4), { timeout: 20_000 })
  const [first, last] = [server.requests[0]?.atMs ?? 0, server.requests[3]?.atMs ?? 0]
  expect(last - first).toBeGreaterThan(leastMsOf(3))
  expect(counts.relists).toBe(1)
})

test('a bookmark is where the next watch begins, so that no list is taken again', async () => {
  const versions = ['100', '200']
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (!url.searchParams.has('watch')) return response.end(listOf(['x'], '7'))
    const version = versions.shift()
    if (version === undefined) return response.flushHeaders()
    return response.end(watchLine('BOOKMARK', '', version))
  })
  const { counts, changes } = reflectorOfThisTest(server.kubeConfig)
  const watches = () => server.requests.filter(({ url }) => url.searchParams.has('watch'))
  await vi.waitFor(() => expect(watches().length).toBe(3))
  expect(watches().map(({ url }) => url.searchParams.get('resourceVersion'))).toEqual(['7', '100', '200'])
  expect(watches().every(({ url }) => url.searchParams.get('allowWatchBookmarks') === 'true')).toBe(true)
  // Half to one and a half of 450 s, so that watches are spread over the replicas of a server again.
  for (const { url } of watches())
    expect(Math.abs(Number(url.searchParams.get('timeoutSeconds')) - 450)).toBeLessThanOrEqual(225)
  expect([counts.relists, changes.length]).toEqual([1, 1])
})

test.each([
  [
    'as the answer',
    (response: { writeHead(status: number): { end(text: string): void } }) =>
      response.writeHead(410).end('{}'),
  ],
  [
    'inside the watch, which then stays open',
    (response: { write(text: string): void }) =>
      response.write(`${JSON.stringify({ type: 'ERROR', object: { code: 410 } })}\n`),
  ],
])(
  'a version that the server no longer knows, told %s, brings one new list, with what was missed and nothing else',
  async (_how, sayGone) => {
    const items = [listOf(['y'], '7'), listOf(['z'], '9')].flatMap((list) => JSON.parse(list).items)
    const lists = [listOf(['x', 'y'], '7'), JSON.stringify({ metadata: { resourceVersion: '9' }, items })]
    const server = await scriptedApiServerOfThisTest((url, response) => {
      if (!url.searchParams.has('watch')) return response.end(lists.shift())
      if (url.searchParams.get('resourceVersion') === '7') return sayGone(response)
      return response.flushHeaders()
    })
    const { reflector, changes, counts } = reflectorOfThisTest(server.kubeConfig)
    await vi.waitFor(() => expect(counts.watches).toBe(2))
    expect(reflector.list().map(({ metadata }) => metadata.name)).toEqual(['y', 'z'])
    expect(changes.slice(2).sort()).toEqual(['default/x', 'default/z'])
  },
)

test('a server that never knew our version, as after a restore of etcd, is listed again after three refusals', async () => {
  const lists = [listOf(['x'], '700'), listOf(['y'], '3')]
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (!url.searchParams.has('watch')) return response.end(lists.shift())
    if (url.searchParams.get('resourceVersion') === '3') return response.flushHeaders()
    return response.writeHead(504).end('{"message":"Too large resource version"}')
  })
  const { reflector } = reflectorOfThisTest(server.kubeConfig)
  await vi.waitFor(() => expect(reflector.list().map(({ metadata }) => metadata.name)).toEqual(['y']))
})

test('ten thousand objects that came and went leave nothing in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const heapBytes = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  let pour = () => {}
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (!url.searchParams.has('watch')) return response.end(listOf([], '1'))
    response.flushHeaders()
    pour = () => {
      for (let n = 0; n < 10_000; n++)
        response.write(watchLine('ADDED', `x${n}`, String(n)) + watchLine('DELETED', `x${n}`, String(n)))
      response.write(watchLine('ADDED', 'last', '20000'))
    }
    return undefined
  })
  let changeCount = 0
  const { reflector } = reflectorOfThisTest(server.kubeConfig, {
    onChange() {
      changeCount += 1
    },
  })
  await vi.waitFor(() => expect(server.requests.length).toBe(2))
  const beforeBytes = heapBytes()
  pour()
  await vi.waitFor(() => expect(changeCount).toBe(20_001), { timeout: 20_000 })
  expect(reflector.list().length).toBe(1)
  expect(heapBytes() - beforeBytes).toBeLessThan(2_000_000)
})
