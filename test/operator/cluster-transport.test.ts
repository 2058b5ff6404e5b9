import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { ClusterUnavailable, createClusterTransport } from '#operator/runtime/internal/cluster-transport'
import { makeCertificate } from '../support/certificate.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { type ScriptedApiServer, scriptedApiServerOfThisTest } from './scripted-api-server.ts'

afterEach(() => void vi.restoreAllMocks())

const call = { method: 'GET', path: '/x', timeoutMs: 5_000, idleMs: 20_000 } as const
/** A limit, and what a busy machine may add to it; below what any other limit of the transport would allow. */
const shortMs = 400
const shortWithSlackMs = 2_500

function transportOfThisTest(
  { kubeConfig }: Pick<ScriptedApiServer, 'kubeConfig'>,
  connections: 'shared' | 'own' = 'own',
) {
  const answers: string[] = []
  const transport = createClusterTransport(kubeConfig, {
    connections,
    onRequest: (code, method) => answers.push(`${method} ${code}`),
  })
  onTestFinished(() => transport.close())
  return { ...transport, answers }
}

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

/** Demands an outage in time, from whatever is asked. */
async function expectSoonUnavailable(asked: Promise<unknown>): Promise<void> {
  const startedAtMs = performance.now()
  await expect(asked).rejects.toThrow(ClusterUnavailable)
  expect(performance.now() - startedAtMs).toBeLessThan(shortWithSlackMs)
}

test('a minute later who we are is read again, and a watch under way goes on', async () => {
  const tokenFile = join(folderOfThisTest('token'), 'token')
  writeFileSync(tokenFile, 'first')
  let tell = (_line: string) => {}
  const server = await scriptedApiServerOfThisTest(
    (url, response) => {
      if (url.pathname !== '/watch') return response.end('{}')
      response.flushHeaders()
      tell = (line) => void response.end(line)
      return undefined
    },
    { tokenFile },
  )
  const transport = transportOfThisTest(server)
  const watched = linesOf(transport.lines({ ...call, path: '/watch' }))
  await vi.waitFor(() => expect(server.requests.length).toBe(1))
  writeFileSync(tokenFile, 'second')
  await transport.send(call)
  const realNow = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + 60_000)
  await transport.send(call)
  await transport.send(call)
  expect(server.requests.map(({ authorization }) => authorization)).toEqual(
    ['first', 'first', 'second', 'second'].map((token) => `Bearer ${token}`),
  )
  tell('still here\n')
  expect(await watched).toEqual(['still here'])
})

test('a kubeconfig as people write it is understood: an address that ends with a slash, a token that ends its line', async () => {
  const tokenFile = join(folderOfThisTest('token'), 'token')
  writeFileSync(tokenFile, 'of a line\n')
  const server = await scriptedApiServerOfThisTest((_url, response) => response.end('{}'), { tokenFile })
  const cluster = server.kubeConfig.getCurrentCluster()
  const user = server.kubeConfig.getCurrentUser()
  if (cluster === null || user === null) throw new Error('no cluster')
  const written = new KubeConfig()
  written.loadFromClusterAndUser({ ...cluster, server: `${cluster.server}/` }, user)
  expect((await transportOfThisTest({ kubeConfig: written }).send(call)).status).toBe(200)
  expect(server.requests.map(({ url, authorization }) => [url.pathname, authorization])).toEqual([
    ['/x', 'Bearer of a line'],
  ])
})

test('a file that was missing for a moment is an outage, and is looked for again at the next request', async () => {
  const tokenFile = join(folderOfThisTest('token'), 'token')
  const server = await scriptedApiServerOfThisTest((_url, response) => response.end('{}'), { tokenFile })
  const transport = transportOfThisTest(server)
  await expect(transport.send(call)).rejects.toThrow(ClusterUnavailable)
  writeFileSync(tokenFile, 'here')
  expect((await transport.send(call)).status).toBe(200)
})

test('a credential program that hangs costs a request and a watch their limits, and a shutdown nothing', async () => {
  const server = await scriptedApiServerOfThisTest((_url, response) => response.end('{}'))
  const hanging = new KubeConfig()
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'cat', interactiveMode: 'Never' }
  const cluster = server.kubeConfig.getCurrentCluster()
  if (cluster === null) throw new Error('no cluster')
  hanging.loadFromClusterAndUser(cluster, { name: 'exec', exec })
  const transport = transportOfThisTest({ kubeConfig: hanging })
  await expectSoonUnavailable(transport.send({ ...call, timeoutMs: shortMs }))
  await expectSoonUnavailable(linesOf(transport.lines({ ...call, timeoutMs: shortMs })))
  const signal = AbortSignal.timeout(shortMs)
  await expectSoonUnavailable(linesOf(transport.lines({ ...call, signal })))
  await transport.close()
})

test('a watch that is never answered is given up after the time for its begin, and is counted', async () => {
  const server = await scriptedApiServerOfThisTest(() => {})
  const transport = transportOfThisTest(server)
  await expectSoonUnavailable(linesOf(transport.lines({ ...call, timeoutMs: shortMs })))
  expect(transport.answers).toEqual(['GET <error>'])
})

test('an answer that comes drop by drop is given up after the time for the whole of it', async () => {
  const server = await scriptedApiServerOfThisTest((_url, response) => {
    const drops = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(drops))
  })
  const { signal } = new AbortController()
  const transport = transportOfThisTest(server)
  await expectSoonUnavailable(transport.send({ ...call, timeoutMs: shortMs }))
  await expectSoonUnavailable(transport.send({ ...call, timeoutMs: shortMs, signal }))
})

test('a connection that never comes about costs a request its limit, and an end costs nothing', async () => {
  const silent = createServer((socket) => void socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as AddressInfo
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser(
    { name: 'silent', server: `https://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'nobody' },
  )
  const transport = transportOfThisTest({ kubeConfig })
  await expectSoonUnavailable(transport.send({ ...call, timeoutMs: shortMs }))
  const signal = AbortSignal.timeout(shortMs)
  await expectSoonUnavailable(transport.send({ ...call, signal }))
  await expectSoonUnavailable(linesOf(transport.lines({ ...call, signal: AbortSignal.timeout(shortMs) })))
  await expectSoonUnavailable(transport.send({ ...call, signal }))
})

test('requests at once share a connection where they may, and one on which nothing comes is replaced', async () => {
  let isSilent = false
  let sessionsCount = 0
  const server = createSecureServer({ ...makeCertificate(), allowHTTP1: true }, (_request, response) => {
    if (!isSilent) response.end('{}')
  })
  server.on('session', () => sessionsCount++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser(
    { name: 'tls', server: `https://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'nobody' },
  )
  const transport = transportOfThisTest({ kubeConfig }, 'shared')
  const sendMany = () => Promise.all(Array.from({ length: 40 }, () => transport.send(call)))
  expect((await sendMany()).map(({ status }) => status)).toEqual(Array(40).fill(200))
  expect(sessionsCount).toBe(1)
  isSilent = true
  await expectSoonUnavailable(transport.send({ ...call, timeoutMs: shortMs }))
  isSilent = false
  expect((await transport.send(call)).status).toBe(200)
  expect(sessionsCount).toBe(2)
})

test('a line is whole, wherever its bytes were cut, and an unfinished line is dropped', async () => {
  const bytes = Buffer.from('ключ\n\n€\nhalf a li')
  const server = await scriptedApiServerOfThisTest((_url, response) => {
    const next = (at: number) => {
      if (at === bytes.length) response.end()
      else response.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1))
    }
    response.flushHeaders()
    response.socket?.setNoDelay()
    next(0)
  })
  expect(await linesOf(transportOfThisTest(server).lines(call))).toEqual(['ключ', '€'])
})

test('a line without an end is an outage, long before it fills our memory', async () => {
  const server = await scriptedApiServerOfThisTest((_url, response) => {
    const flood = Buffer.alloc(1024 * 1024, 'x')
    const pour = () => {
      while (!response.destroyed && response.write(flood)) {}
    }
    response.on('drain', pour)
    pour()
  })
  const failed = linesOf(transportOfThisTest(server).lines(call))
  await expect(failed).rejects.toThrow(/more than 8388608 characters/)
})

test('a rejected watch is reported with its response, and is no outage', async () => {
  const server = await scriptedApiServerOfThisTest((_url, response) =>
    response.writeHead(403).end('{"message":"no"}'),
  )
  await expect(linesOf(transportOfThisTest(server).lines(call))).rejects.toMatchObject({
    name: 'RefusedStream',
    answer: { status: 403, text: '{"message":"no"}' },
  })
})
