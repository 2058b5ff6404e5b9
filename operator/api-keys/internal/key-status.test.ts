import { describe, expect, test } from 'vitest'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import { no } from '../../status/verdict.ts'
import { transitionEvent } from './key-events.ts'
import { createReady, setSpec, settle } from './key-happenings.fixture.ts'
import { readKeyObject } from './key-object.ts'
import { keyStatus, statusOfRefused, statusWithoutDatabase } from './key-status.ts'
import { createObject, createWorld, gather, secretValue, type World } from './key-world.fixture.ts'
import { nextLook } from './next-look.ts'

const object: ClusterObject = {
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'ApiKey',
  metadata: { name: 'ci', namespace: 'team-a', uid: 'uid-1', generation: 3 },
}
const secret = { name: 'ci-apikey', entry: 'OPENAI_API_KEY' }

function gatherNow(world: World) {
  if (world.object === undefined) throw new Error('no object')
  return gather(world, world.object, 'none')
}

const reasonsOf = (status: object) =>
  Object.fromEntries(conditionsOf({ ...object, status }).map(({ type, reason }) => [type, reason]))

describe('a status', () => {
  test('names key and Secret, shows the ends of the secret, and never the secret', () => {
    const world = createReady({ rotationTrigger: 'one' })
    const status = keyStatus(gatherNow(world), secret, object)
    const keySecret = secretValue(world) ?? ''
    expect(status).toMatchObject({
      observedGeneration: 1,
      keyPrefix: `${keySecret.slice(0, 15)}…${keySecret.slice(-4)}`,
      managedBy: 'kubernetes',
      secretRef: { name: 'ci-apikey', key: 'OPENAI_API_KEY' },
      rotation: { observedTrigger: 'one' },
    })
    expect(reasonsOf(status)).toEqual({
      Accepted: 'Accepted',
      SecretReady: 'Synced',
      Programmed: 'Programmed',
      DatabaseReachable: 'Connected',
      Ready: 'Programmed',
    })
    expect(JSON.stringify(status)).not.toContain(keySecret.slice(15, -4))
  })

  test('reports when the previous secret ends, and a check is due then', () => {
    const world = createReady()
    setSpec(world, { rotationTrigger: 'next' })
    settle(world)
    const gathered = gatherNow(world)
    const { rotation } = keyStatus(gathered, secret, object)
    expect(rotation?.previousKeyExpiresAt).toBe(
      new Date(world.nowMs + 3_600_000).toISOString().replace('.000', ''),
    )
    expect(nextLook(gathered)).toEqual({ afterMs: 3_600_000 })
  })

  test('goes on naming a key that the database has lost, so that it can come back', () => {
    const world = createWorld()
    createObject(world)
    world.allowedOrganization = undefined
    const status = keyStatus(gatherNow(world), secret, { ...object, status: { keyID: 'key-7' } })
    expect(status.keyID).toBe('key-7')
    expect(status.keyPrefix).toBeUndefined()
  })

  test('moves no time when nothing is new', () => {
    const world = createReady()
    const first = keyStatus(gatherNow(world), secret, object)
    world.nowMs += 60_000
    expect(keyStatus(gatherNow(world), secret, { ...object, status: first })).toEqual(first)
  })
})

describe('while the database is unavailable', () => {
  const alive = readKeyObject(object).object
  const written: ClusterObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ci-apikey' } }

  test('earlier conditions stay; only a long outage is reported', () => {
    const told = keyStatus(gatherNow(createReady()), secret, object)
    const known = { ...object, status: told }
    expect(statusWithoutDatabase(known, alive, { outage: 'short', secret: written, nowMs: 0 })).toEqual(told)
    const long = statusWithoutDatabase(known, alive, { outage: 'long', secret: written, nowMs: 0 })
    expect(reasonsOf(long)).toEqual({ ...reasonsOf(told), DatabaseReachable: 'DatabaseUnavailable' })
    expect(long).toMatchObject({ observedGeneration: 1, keyID: told.keyID, secretRef: told.secretRef })
  })

  test.each([
    { finalizers: ['modelgateway.dev/revoke'], reason: 'Revoking' },
    { finalizers: ['example.com/backup'], reason: 'Deleting' },
  ])('a deleted ApiKey with the finalizers $finalizers is not Ready: $reason', ({ finalizers, reason }) => {
    const told = keyStatus(gatherNow(createReady()), secret, object)
    const metadata = { ...object.metadata, finalizers, deletionTimestamp: '2026-11-26T00:00:00Z' }
    const known = { ...object, metadata, status: told }
    const status = statusWithoutDatabase(known, readKeyObject(known).object, {
      outage: 'short',
      secret: written,
      nowMs: 0,
    })
    expect(reasonsOf(status)).toEqual({ ...reasonsOf(told), Ready: reason })
  })

  test('a written Secret that has disappeared is reported', () => {
    const told = keyStatus(gatherNow(createReady()), secret, object)
    const status = statusWithoutDatabase({ ...object, status: told }, alive, {
      outage: 'short',
      secret: undefined,
      nowMs: 0,
    })
    const reason = { SecretReady: 'SecretMissing', Ready: 'SecretMissing' }
    expect(reasonsOf(status)).toEqual({ ...reasonsOf(told), ...reason })
  })

  test('of a new ApiKey nothing is known', () => {
    const status = statusWithoutDatabase(object, alive, { outage: 'short', secret: undefined, nowMs: 0 })
    expect(status).toMatchObject({ observedGeneration: 3 })
    expect(new Set(Object.values(reasonsOf(status)))).toEqual(new Set(['Pending']))
  })
})

test('a change that the database rejects is reported, and every other condition stays', () => {
  const told = keyStatus(gatherNow(createReady()), secret, object)
  const refused = statusOfRefused({ ...object, status: told }, no('DatabaseRefused', 'why'), 0)
  const reason = { Accepted: 'DatabaseRefused', Ready: 'DatabaseRefused' }
  expect(reasonsOf(refused)).toEqual({ ...reasonsOf(told), ...reason })
  expect(refused).toMatchObject({ observedGeneration: 3, keyID: told.keyID, secretRef: told.secretRef })
})

describe('a change of Ready', () => {
  const told = (reason: string) => ({
    ...object,
    status: {
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason,
          message: '',
          observedGeneration: 1,
          lastTransitionTime: '',
        },
      ],
    },
  })
  const now = (reason: string) => ({ reason, message: 'why' })

  test('to a block and back is an event, once', () => {
    expect(transitionEvent(told('Programmed'), now('Suspended'))).toMatchObject({
      reason: 'Blocked',
      note: 'why',
    })
    expect(transitionEvent(told('Suspended'), now('BlockedByCabinet'))).toBeUndefined()
    expect(transitionEvent(told('Suspended'), now('Programmed'))).toMatchObject({ reason: 'Unblocked' })
    expect(transitionEvent(told('Pending'), now('Programmed'))).toBeUndefined()
  })

  test("to a state that needs a user's action is an event, once for each reason", () => {
    const refused = { type: 'Warning', note: 'why' }
    for (const reason of ['InvalidSpec', 'OrganizationNotFound', 'SecretNotOwned']) {
      expect(transitionEvent(told('Pending'), now(reason))).toMatchObject({ ...refused, reason })
      expect(transitionEvent(told(reason), now(reason))).toBeUndefined()
    }
    expect(transitionEvent(told('Programmed'), now('GatewaysPending'))).toBeUndefined()
  })
})

describe('an ApiKey as it is written', () => {
  const spec = { organization: 'acme', deletionPolicy: 'Orphan' }

  test('contains the spec; its display name is the key’s name', () => {
    expect(readKeyObject({ ...object, spec })).toMatchObject({
      object: { deletionPolicy: 'Orphan', hasFinalizer: false, isTerminating: false },
      draft: { name: 'ci', organization: 'acme', suspended: false },
      secret: { name: 'ci-apikey', entry: 'OPENAI_API_KEY', baseUrlEntry: 'OPENAI_BASE_URL' },
    })
    expect(readKeyObject({ ...object, spec: { ...spec, displayName: 'CI' } }).draft).toMatchObject({
      name: 'CI',
    })
  })

  test('with an invalid spec reports the field, and can still be deleted', () => {
    const { draft, object: read } = readKeyObject({
      ...object,
      spec: { organization: 'Not A Name', suspend: 'yes' },
    })
    expect(draft).toMatchObject({ fault: expect.stringContaining('organization') })
    expect(read.deletionPolicy).toBe('Revoke')
  })

  test('with broken glass is let go', () => {
    const annotations = { 'modelgateway.dev/deletion-policy-override': 'Orphan' }
    const { object: read } = readKeyObject({
      ...object,
      metadata: { ...object.metadata, annotations },
      spec: {},
    })
    expect(read.deletionPolicy).toBe('Orphan')
  })
})
