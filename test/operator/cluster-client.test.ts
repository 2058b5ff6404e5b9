import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { ClusterRefused, createClusterClient } from '#operator/runtime/cluster-client'
import { createEventRecorder } from '#operator/runtime/event-recorder'
import { ClusterUnavailable } from '#operator/runtime/internal/cluster-transport'
import { events, leases, namespaces, secrets } from '#operator/runtime/resources'
import { clusterOfThisFile } from '../support/cluster.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { listOf, scriptedApiServerOfThisTest } from './scripted-api-server.ts'

const { kubeConfig, apiServer } = await clusterOfThisFile()
const client = createClusterClient(kubeConfig)
afterAll(() => client.close())

const namespace = 'default'
const uniqueName = () => `t-${randomBytes(6).toString('hex')}`
const secret = (name: string, data: Readonly<Record<string, string>> = { value: 'eA==' }) => ({
  metadata: { name, namespace },
  data,
  type: 'Opaque',
})

async function applied(object: ReturnType<typeof secret>) {
  const answer = await client.apply(secrets, object)
  if (answer === 'conflict') throw new Error('conflict')
  return answer
}

test('a repeated apply changes nothing, so it triggers no watcher', async () => {
  const object = secret(uniqueName())
  const first = await applied(object)
  expect(await client.apply(secrets, object)).toEqual(first)
})

test('an apply is a full statement: what it leaves out is deleted', async () => {
  const object = secret(uniqueName())
  await applied({ ...object, data: { value: 'eA==', old: 'eA==' } })
  expect((await applied(object)).data).toEqual({ value: 'eA==' })
})

test('an apply with a uid never makes an object, and never touches another one of that name', async () => {
  const object = secret(uniqueName())
  const { uid = '' } = (await applied(object)).metadata
  const ofUid = { ...object, metadata: { ...object.metadata, uid } }
  const found = await client.find(secrets, object.metadata)
  if (found === undefined) throw new Error('not there')
  await client.remove(secrets, found)
  expect(await client.apply(secrets, ofUid)).toBe('conflict')
  expect(await client.find(secrets, object.metadata)).toBeUndefined()
  const next = await applied(secret(object.metadata.name, { value: 'eQ==' }))
  expect(await client.apply(secrets, ofUid)).toBe('conflict')
  await client.remove(secrets, found)
  expect(await client.find(secrets, object.metadata)).toEqual(next)
})

test('a status is applied to the object that was read, and to no other and none that is gone', async () => {
  const metadata = { name: uniqueName(), namespace: '' }
  const made = await client.create(namespaces, { metadata })
  if (made === 'exists') throw new Error('exists')
  const status = {
    conditions: [{ type: 'Seen', status: 'True', lastTransitionTime: '2026-11-21T10:00:00Z' }],
  }
  expect(await client.applyStatus(namespaces, { ...made, status })).toBe('applied')
  expect((await client.find(namespaces, metadata))?.status).toMatchObject(status)
  const other = { ...made, metadata: { ...made.metadata, uid: '00000000-0000-0000-0000-000000000000' } }
  expect(await client.applyStatus(namespaces, { ...other, status })).toBe('gone')
  const gone = { ...made, metadata: { ...made.metadata, name: uniqueName() } }
  expect(await client.applyStatus(namespaces, { ...gone, status })).toBe('gone')
})

test('a change is made only to the object as it was read', async () => {
  const object = await applied(secret(uniqueName()))
  const held = { metadata: { finalizers: ['modelgateway.dev/revoke'] } }
  const freed = { metadata: { finalizers: [] } }
  expect(await client.patch(secrets, object, held)).toMatchObject(held)
  expect(await client.patch(secrets, object, freed)).toBe('conflict')
  await client.remove(secrets, object)
  const ending = await client.find(secrets, { namespace, name: object.metadata.name })
  expect(ending?.metadata.deletionTimestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/)
  expect(await client.patch(secrets, ending ?? object, freed)).toMatchObject({ kind: 'Secret' })
  expect(await client.patch(secrets, object, freed)).toBe('gone')
  const made = await applied(secret(object.metadata.name))
  expect(await client.patch(secrets, { ...made, metadata: { ...object.metadata } }, held)).toBe('conflict')
})

test('an object that exists is not made again', async () => {
  const object = secret(uniqueName())
  await applied(object)
  expect(await client.create(secrets, object)).toBe('exists')
})

test('a rejection by the API server is reported in its own words, with its reasons', async () => {
  const nowhere = client.apply(secrets, { metadata: { name: 'x', namespace: 'nowhere' } })
  await expect(nowhere).rejects.toThrow('namespaces "nowhere" not found')
  const misnamed = client.apply(secrets, secret('Not_A_Name'))
  await expect(misnamed).rejects.toThrow(ClusterRefused)
  await expect(misnamed).rejects.toMatchObject({ status: 422, reasons: expect.arrayContaining(['Invalid']) })
})

test('a namespace that is being deleted rejects new objects, with the reason', async () => {
  const metadata = { name: uniqueName(), namespace: '' }
  const made = await client.create(namespaces, { metadata })
  if (made === 'exists') throw new Error('exists')
  await client.remove(namespaces, made)
  const late = client.apply(secrets, { metadata: { name: 'x', namespace: metadata.name } })
  await expect(late).rejects.toMatchObject({
    status: 403,
    reasons: expect.arrayContaining(['NamespaceTerminating']),
  })
})

test('every time comes back as the text it is, from Leases, too', async () => {
  const metadata = { name: uniqueName(), namespace }
  const renewTime = '2026-11-21T10:00:00.123000Z'
  const made = await client.create(leases, { metadata, spec: { holderIdentity: 'x', renewTime } })
  const read = await client.find(leases, metadata)
  expect(read).toEqual(made)
  expect(read?.spec).toMatchObject({ renewTime: '2026-11-21T10:00:00.123000Z' })
  expect(typeof read?.metadata.creationTimestamp).toBe('string')
})

test('what others wrote into an object that we hold does not fill our memory: managedFields are left out', async () => {
  const made = await applied(secret(uniqueName()))
  expect(JSON.stringify(made)).not.toContain('managedFields')
})

test('an event of an object with the longest name can be written, cut notes and all, and once a minute only', async () => {
  const failed: unknown[] = []
  const recorder = createEventRecorder(client, { instance: 'test', onError: (error) => failed.push(error) })
  const name = `${'a'.repeat(235)}-${'b'.repeat(17)}`
  const object = { ...(await applied(secret(name))), kind: 'Secret' }
  const reason = `Made${randomBytes(4).toString('hex')}`
  for (let i = 0; i < 50; i++)
    recorder.record(object, { type: 'Normal', reason, action: 'Make', note: 'ключ'.repeat(1_000) })
  await recorder.flush()
  expect(failed).toEqual([])
  const page = await client.list(events, {
    namespace,
    pageSize: 500,
    continueToken: '',
    signal: AbortSignal.timeout(5_000),
  })
  const written =
    page === 'expired' ? [] : page.objects.filter((event) => event.metadata.name.startsWith('aaa'))
  expect(written.length).toBe(1)
})

test('an event that cannot be written is dropped: record never throws', async () => {
  const failed: unknown[] = []
  const recorder = createEventRecorder(client, { instance: 'test', onError: (error) => failed.push(error) })
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', namespace: 'nowhere' } }
  recorder.record(object, { type: 'Warning', reason: 'Lost', action: 'Look', note: '' })
  await recorder.flush()
  expect(failed.length).toBe(1)
})

test('a frozen API server costs a request its time limit and no more, and the next one works when it is back', async () => {
  const impatient = createClusterClient(kubeConfig, { timeoutMs: 500 })
  onTestFinished(() => impatient.close())
  const kubeSystem = { namespace: '', name: 'kube-system' }
  const found = await impatient.find(namespaces, kubeSystem)
  apiServer.freeze()
  onTestFinished(() => apiServer.thaw())
  const startedAtMs = performance.now()
  await expect(impatient.find(namespaces, kubeSystem)).rejects.toThrow(ClusterUnavailable)
  expect(performance.now() - startedAtMs).toBeLessThan(1_500)
  apiServer.thaw()
  expect(await impatient.find(namespaces, kubeSystem)).toEqual(found)
})

test('a token that was rotated in its file is used at once when the old one is rejected', async () => {
  const tokenFile = join(folderOfThisTest('token'), 'token')
  writeFileSync(tokenFile, 'first')
  let valid = 'first'
  const server = await scriptedApiServerOfThisTest(
    (_url, response, request) => {
      const isValid = request.headers.authorization === `Bearer ${valid}`
      response.writeHead(isValid ? 200 : 401).end(isValid ? listOf([], '1') : '{}')
    },
    { tokenFile },
  )
  const ofFile = createClusterClient(server.kubeConfig)
  onTestFinished(() => ofFile.close())
  const list = () =>
    ofFile.list(secrets, { namespace, pageSize: 1, continueToken: '', signal: AbortSignal.timeout(5_000) })
  await list()
  writeFileSync(tokenFile, 'second')
  valid = 'second'
  await Promise.all([list(), list(), list()])
  expect(server.requests.at(-1)?.authorization).toBe('Bearer second')
  writeFileSync(tokenFile, 'nobody knows this one')
  valid = 'third'
  await expect(list()).rejects.toThrow(ClusterUnavailable)
})

test.each([
  [408, ClusterUnavailable],
  [429, ClusterUnavailable],
  [500, ClusterUnavailable],
  [504, ClusterUnavailable],
  [400, ClusterRefused],
  [403, ClusterRefused],
])('a server that answers %i has not the time now, or refuses for good: %o', async (status, error) => {
  const server = await scriptedApiServerOfThisTest((_url, response) =>
    response.writeHead(status).end('{"message":"its words"}'),
  )
  const asked = createClusterClient(server.kubeConfig)
  onTestFinished(() => asked.close())
  const signal = AbortSignal.timeout(5_000)
  for (const ask of [
    () => asked.find(secrets, { namespace, name: 'x' }),
    () => asked.remove(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', namespace } }),
    () => asked.watch(secrets, { namespace, resourceVersion: '1', lengthS: 1, idleMs: 5_000, signal }).next(),
  ])
    await expect(ask()).rejects.toThrow(expect.toSatisfy((thrown) => thrown instanceof error))
})

test('an apply takes back fields of the operator that another field manager has written', async () => {
  const object = secret(uniqueName())
  const made = await applied(object)
  const other = { ...made, data: { value: 'eQ==' } }
  expect(await client.replace(secrets, other)).toMatchObject({ data: { value: 'eQ==' } })
  expect((await applied(object)).data).toEqual({ value: 'eA==' })
})

test('no error that is thrown carries the token', async () => {
  const tokenFile = join(folderOfThisTest('token'), 'token')
  writeFileSync(tokenFile, 'the-secret-token')
  const server = await scriptedApiServerOfThisTest((_url, response) => response.destroy(), { tokenFile })
  const ofFile = createClusterClient(server.kubeConfig)
  onTestFinished(() => ofFile.close())
  const failed = await ofFile.find(secrets, { namespace, name: 'x' }).catch((error: unknown) => error)
  expect(server.requests[0]?.authorization).toContain('the-secret-token')
  expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain('the-secret-token')
})

test('an answer that is no answer of an API server, or has no end, is an outage and not a crash', async () => {
  const server = await scriptedApiServerOfThisTest((url, response) => {
    if (!url.pathname.endsWith('/endless')) return response.end('<html>please log in</html>')
    const flood = Buffer.alloc(1024 * 1024, 'x')
    const pour = () => {
      while (!response.destroyed && response.write(flood)) {}
    }
    response.on('drain', pour)
    return pour()
  })
  const puzzled = createClusterClient(server.kubeConfig)
  onTestFinished(() => puzzled.close())
  await expect(puzzled.find(secrets, { namespace, name: 'page' })).rejects.toThrow(ClusterUnavailable)
  await expect(puzzled.find(secrets, { namespace, name: 'endless' })).rejects.toThrow(
    /more than 67108864 bytes/,
  )
})
