import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AppliedObject } from './cluster-client.ts'
import type { ClusterObject } from './cluster-object.ts'
import { type ClusterEvent, createEventRecorder } from './event-recorder.ts'

const key: ClusterObject = {
  apiVersion: 'v1',
  kind: 'ApiKey',
  metadata: { name: 'ci', namespace: 'team-a', uid: '1' },
}
const made: ClusterEvent = { type: 'Normal', reason: 'KeyMinted', action: 'Mint', note: '' }
const secondMs = 1_000

/** A recorder before an API server that accepts everything, or responds when the test lets it. */
function recorderOf({ answer = async () => {} }: { readonly answer?: () => Promise<void> } = {}) {
  const written: AppliedObject[] = []
  const clock = { nowMs: Date.parse('2026-11-22T10:00:00Z') }
  const client = {
    async create(_resource: unknown, object: AppliedObject) {
      written.push(object)
      await answer()
      return { ...object, apiVersion: 'events.k8s.io/v1', kind: 'Event' }
    },
  }
  const recorder = createEventRecorder(client, {
    instance: 'test',
    onError: () => {},
    now: () => clock.nowMs,
  })
  return { recorder, written, clock }
}

test('an event that comes when all before were written is written, too', async () => {
  const { recorder, written } = recorderOf()
  for (const reason of ['KeyMinted', 'KeyRotated', 'KeyRevoked']) {
    recorder.record(key, { ...made, reason })
    await recorder.flush()
  }
  expect(written.length).toBe(3)
})

test('the same event of the same object is written again after a minute, and no sooner', async () => {
  const { recorder, written, clock } = recorderOf()
  for (const passedMs of [0, 59 * secondMs, secondMs]) {
    clock.nowMs += passedMs
    recorder.record(key, made)
    await recorder.flush()
    expect(written.length).toBe(passedMs === 59 * secondMs || passedMs === 0 ? 1 : 2)
  }
})

test('an object created again under an old name has separate events, and so has each message', async () => {
  const { recorder, written } = recorderOf()
  recorder.record(key, made)
  recorder.record({ ...key, metadata: { ...key.metadata, uid: '2' } }, made)
  recorder.record(key, { ...made, note: 'another' })
  await recorder.flush()
  expect(written.length).toBe(3)
})

test('an API server that answers nothing costs the memory of 2,000 events and no more, of whatever objects', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const { recorder, written } = recorderOf({ answer: () => answered })
  const record = (n: number) => recorder.record({ ...key, metadata: { ...key.metadata, uid: `${n}` } }, made)
  for (let n = 0; n < 5_000; n++) record(n)
  await turn()
  expect(written.length).toBe(1)
  answer()
  await recorder.flush()
  expect(written.length).toBe(2_001)
})

test('no more than 2,000 events are remembered as sent, the last ones', async () => {
  const { recorder, written } = recorderOf()
  const record = async (n: number) => {
    recorder.record({ ...key, metadata: { ...key.metadata, uid: `${n}` } }, made)
    await recorder.flush()
  }
  for (let n = 0; n <= 2_000; n++) await record(n)
  await record(2_000)
  expect(written.length).toBe(2_001)
  await record(0)
  expect(written.length).toBe(2_002)
})
