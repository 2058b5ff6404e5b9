import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { Superseded } from '#core/audit/cluster-epoch'
import { PostgresUnavailable } from '#core/db/availability'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { ClusterUnavailable } from '../runtime/internal/cluster-transport.ts'
import { modelRoutes } from '../runtime/resources.ts'
import { no, type Verdict, yes } from './verdict.ts'
import { createStatusWriter } from './write-status.ts'

const nowMs = Date.parse('2026-11-22T11:00:00Z')
const types = ['Accepted', 'Ready']
const good = { verdicts: { Accepted: yes('Accepted'), Ready: yes('Programmed') } }
const bad = { verdicts: { Accepted: no('Conflict', 'why'), Ready: no('Conflict', 'why') } }
const route: ClusterObject = {
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'ModelRoute',
  metadata: { name: 'm', namespace: 'models', uid: '1', generation: 1 },
}

/** A writer, and the requests that reached an API server that does not respond until the test lets it. */
function writerOf() {
  const server = { heard: [] as unknown[], answers: true }
  const writer = createStatusWriter(
    {
      async applyStatus(_resource, { status }) {
        server.heard.push(status)
        if (!server.answers) throw new ClusterUnavailable('no answer')
        return 'applied'
      },
    },
    modelRoutes,
    () => nowMs,
  )
  /** The route as it is once what was written last has come back. */
  const back = (): ClusterObject => ({ ...route, status: structuredClone(server.heard.at(-1)) })
  return { writer, server, back }
}

const wordsOf = (status: unknown) =>
  (status as { conditions: (Verdict & { type: string })[] }).conditions.map(
    ({ type, status: is, reason }) => `${type}=${is}/${reason}`,
  )

test('an object with the same status costs no request, and further changes are written with it', async () => {
  const { writer, server, back } = writerOf()
  await writer.write(route, { ...good, fields: { gateways: '2/2' } })
  expect(server.heard).toMatchObject([{ observedGeneration: 1, gateways: '2/2' }])
  await writer.write(back(), { ...good, fields: { gateways: '2/2' } })
  expect(server.heard.length).toBe(1)
  await writer.write(back(), { ...good, fields: { gateways: '1/2' } })
  expect(server.heard.length).toBe(2)
})

test('a status equal to an older copy is written nevertheless if another was written since', async () => {
  const { writer, server, back } = writerOf()
  await writer.write(route, good)
  const copy = back()
  await writer.write(copy, bad)
  await writer.write(copy, good)
  expect(server.heard.map(wordsOf).at(-1)).toEqual(['Accepted=True/Accepted', 'Ready=True/Programmed'])
  expect(server.heard.length).toBe(3)
})

test('a write that was not answered may have been made: the next one is not left out', async () => {
  const { writer, server, back } = writerOf()
  await writer.write(route, good)
  const copy = back()
  server.answers = false
  await expect(writer.write(copy, bad)).rejects.toThrow(ClusterUnavailable)
  server.answers = true
  await writer.write(copy, good)
  expect(server.heard.length).toBe(3)
})

test('changes of a status by others are distinguished from our own, also while it is being written', async () => {
  const { writer, back } = writerOf()
  expect(writer.isForeign(route)).toBe(false)
  await writer.write(route, good)
  expect(writer.isForeign(back())).toBe(false)
  const writing = writer.write(back(), bad)
  expect(writer.isForeign(back())).toBe(false)
  await writing
  expect(writer.isForeign({ ...route, status: { conditions: [] } })).toBe(true)
  writer.forget('models/m')
  expect(writer.isForeign({ ...route, status: { conditions: [] } })).toBe(false)
})

test('a successful check is answered, and logs nothing', async () => {
  const { writer, server } = writerOf()
  expect(await writer.whileLooked(route, types, Promise.resolve('done'))).toBe('done')
  expect(server.heard).toEqual([])
})

test('an object without a status gets an unknown one when its check fails, and one that has a status keeps it', async () => {
  const { writer, server, back } = writerOf()
  const away = new PostgresUnavailable({ cause: undefined })
  await expect(writer.whileLooked(route, types, Promise.reject(away))).rejects.toBe(away)
  expect(server.heard.map(wordsOf)).toEqual([['Accepted=Unknown/Pending', 'Ready=Unknown/Pending']])
  await expect(writer.whileLooked(back(), types, Promise.reject(away))).rejects.toBe(away)
  expect(server.heard.length).toBe(1)
})

test('an object that the database rejects reports it, even if it had conditions', async () => {
  const { writer, server, back } = writerOf()
  await writer.write(route, good)
  const refused = Object.assign(new DatabaseError('why', 0, 'error'), { code: '23514' })
  await expect(writer.whileLooked(back(), types, Promise.reject(refused))).rejects.toBe(refused)
  expect(wordsOf(server.heard.at(-1))).toEqual([
    'Accepted=False/DatabaseRefused',
    'Ready=False/DatabaseRefused',
  ])
})

test('the error of a failed check is passed on even if the API server cannot be reached', async () => {
  const { writer, server } = writerOf()
  server.answers = false
  const away = new PostgresUnavailable({ cause: undefined })
  await expect(writer.whileLooked(route, types, Promise.reject(away))).rejects.toBe(away)
  expect(server.heard.length).toBe(1)
})

test('a leader that was overtaken writes no status any more: another one speaks now', async () => {
  const { writer, server } = writerOf()
  const over = new Superseded({ clusterId: 'c', epoch: 1n })
  await expect(writer.whileLooked(route, types, Promise.reject(over))).rejects.toBe(over)
  expect(server.heard).toEqual([])
})
