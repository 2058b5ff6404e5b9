import { describe, expect, test } from 'vitest'
import { shardOf } from '#core/redis/shard'
import { delayEvent, eventOf, waitEvent } from './key-events.ts'
import { createReady, editSecret, onlyKey, readyOf, setSpec, settle } from './key-happenings.fixture.ts'
import { verdictsOf } from './key-verdicts.ts'
import {
  crash,
  createObject,
  createWorld,
  findOpened,
  freshSecret,
  gather,
  isLive,
  pass,
  project,
  secretValue,
  type World,
} from './key-world.fixture.ts'
import { nextLook } from './next-look.ts'
import { planKey } from './plan-key.ts'

describe('a new ApiKey', () => {
  test('has its finalizer before its key, its key before its Secret, and its Secret only when the gateways know its secret', () => {
    const world = createWorld()
    createObject(world)
    expect(pass(world).map((step) => step.do)).toEqual([
      'addFinalizer',
      'makeKey',
      'awaitProjection',
      'writeSecret',
      'finishDelivery',
    ])
    expect(readyOf(world)).toBe('Programmed')
  })

  test('whose operator died before the Secret gets another secret on the same key', () => {
    const world = createWorld()
    createObject(world)
    pass(world, { stepsMax: 3 })
    crash(world)
    settle(world)
    const key = onlyKey(world)
    expect(key.secrets).toHaveLength(2)
    expect(key.secrets.map((secret) => isLive(world, secret))).toEqual([true, false])
    expect(secretValue(world)).toBe(key.secrets[0]?.keySecret)
  })

  test('whose operator died after the Secret keeps that secret', () => {
    const world = createWorld()
    createObject(world)
    pass(world, { stepsMax: 4 })
    const value = secretValue(world)
    crash(world)
    expect(pass(world).map((step) => step.do)).toEqual(['finishDelivery'])
    expect(secretValue(world)).toBe(value)
    expect(readyOf(world)).toBe('Programmed')
  })

  test('waits for the gateways without minting again while its process lives', () => {
    const world = createWorld()
    createObject(world)
    for (let count = 0; count < 5; count++) pass(world, { projects: 'never' })
    expect(onlyKey(world).secrets).toHaveLength(1)
    expect(world.secret).toBeUndefined()
    expect(readyOf(world)).toBe('GatewaysPending')
  })

  test('writes nothing to a foreign Secret, and creates no key for it', () => {
    const world = createWorld()
    createObject(world)
    world.secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'ci-apikey' },
      data: { mine: 'eA==' },
    }
    const before = world.secret
    settle(world)
    expect(world.secret).toBe(before)
    expect(world.keys.size).toBe(0)
    expect(readyOf(world)).toBe('SecretNotOwned')
    world.secret = undefined
    settle(world)
    expect(readyOf(world)).toBe('Programmed')
  })

  test('makes nothing in a namespace that may not use its organization, or that is going', () => {
    const world = createWorld()
    createObject(world)
    world.allowedOrganization = 'other'
    settle(world)
    expect(readyOf(world)).toBe('NamespaceNotAllowed')
    world.allowedOrganization = 'acme'
    world.namespaceIsTerminating = true
    settle(world)
    expect(readyOf(world)).toBe('NamespaceTerminating')
    expect(world.keys.size).toBe(0)
    expect(world.object?.hasFinalizer).toBe(false)
  })
})

describe('rotation', () => {
  test('comes at most once a minute: the next one waits, and then it comes', () => {
    const world = createReady()
    setSpec(world, { rotationTrigger: 'one' })
    pass(world)
    const first = secretValue(world)
    setSpec(world, { rotationTrigger: 'two' })
    pass(world)
    expect(secretValue(world)).toBe(first)
    if (world.object === undefined) throw new Error('no object')
    const gathered = gather(world, world.object, 'none')
    expect(verdictsOf(gathered).SecretReady).toMatchObject({ status: 'True', reason: 'RotationDelayed' })
    expect(delayEvent(gathered)?.reason).toBe('RotationDelayed')
    expect(nextLook(gathered)).toEqual({ afterMs: 60_000 })
    expect(readyOf(world)).toBe('Programmed')
    world.nowMs += 60_000
    pass(world)
    expect(secretValue(world)).not.toBe(first)
    expect(world.resource?.rotationTrigger).toBe('two')
  })

  test('by a new trigger makes a new secret; the old one lives on for the grace, and then no longer', () => {
    const world = createReady()
    const old = secretValue(world)
    setSpec(world, { rotationTrigger: '2026-11-20' })
    settle(world)
    expect(secretValue(world)).not.toBe(old)
    const opened = findOpened(world, old)
    if (opened === undefined) throw new Error('the old secret is unknown')
    expect(isLive(world, opened.secret)).toBe(true)
    world.nowMs += 3_600_001
    expect(isLive(world, opened.secret)).toBe(false)
    expect(onlyKey(world).secrets).toHaveLength(2)
  })

  test('that is asked for again while the first is still being delivered is not swallowed', () => {
    const world = createReady()
    setSpec(world, { rotationTrigger: 'first' })
    pass(world, { stepsMax: 4 }) // the Secret is written, and the operator has not recorded it
    const first = secretValue(world)
    crash(world)
    setSpec(world, { rotationTrigger: 'second' })
    settle(world)
    expect(secretValue(world)).not.toBe(first)
    expect(world.resource?.rotationTrigger).toBe('second')
  })

  test('repairs a Secret with an earlier secret of its key', () => {
    const world = createReady()
    const old = secretValue(world) ?? ''
    setSpec(world, { rotationTrigger: 'a' })
    settle(world)
    editSecret(world, old)
    settle(world)
    expect(isLive(world, findOpened(world, secretValue(world))?.secret ?? fail())).toBe(true)
    expect(secretValue(world)).not.toBe(old)
  })
})

describe('a Secret', () => {
  test.each<[string, string, (world: World) => void]>([
    ['that was deleted', 'SecretMissing', removeSecret],
    ['whose API key was removed', 'SecretMissing', removeValue],
    ['whose API key somebody changed', 'SecretModified', (world) => editSecret(world, freshSecret(world))],
    ['with some other text', 'SecretModified', (world) => editSecret(world, 'of somebody')],
  ])('%s says so, and gets a new API key; the one before lives on for its grace', (_, reason, lose) => {
    const world = createReady()
    const old = secretValue(world)
    lose(world)
    expect(readyOf(world)).toBe(reason)
    expect(pass(world).map((step) => step.do)).toContain('mint')
    expect(readyOf(world)).toBe('Programmed')
    expect(isLive(world, findOpened(world, secretValue(world))?.secret ?? fail())).toBe(true)
    expect(isLive(world, findOpened(world, old)?.secret ?? fail())).toBe(true)
  })

  test('that is lost repeatedly is repaired later, and reports when; a rotation does not wait', () => {
    const world = createReady()
    world.secret = undefined
    world.nextRepairAtMs = world.nowMs + 60_000
    expect(pass(world)).toEqual([])
    expect(readyOf(world)).toBe('SecretMissing')
    const gathered = gather(world, world.object ?? fail(), 'none')
    expect(verdictsOf(gathered).SecretReady.message).toContain('2026-11-21T00:01:00Z')
    expect(nextLook(gathered)).toEqual({ afterMs: 60_000 })
    setSpec(world, { rotationTrigger: 'now' })
    settle(world)
    expect(readyOf(world)).toBe('Programmed')
    world.secret = undefined
    world.nowMs += 60_000
    settle(world)
    expect(readyOf(world)).toBe('Programmed')
  })

  test('that outlived its ApiKey is taken over with what it holds', () => {
    const world = createReady()
    const value = secretValue(world)
    world.object = undefined
    createObject(world)
    const steps = pass(world)
    expect(steps.map((step) => step.do)).toEqual(['addFinalizer', 'updateKey', 'writeSecret'])
    expect(steps[1]).toMatchObject({ event: 'Adopted' })
    expect(secretValue(world)).toBe(value)
    expect(world.secret?.metadata.ownerReferences).toMatchObject([{ uid: world.object && uidOf(world) }])
    onlyKey(world)
  })

  test('gives the secret back to a database that lost the key', () => {
    const world = createReady()
    const value = secretValue(world)
    const keyId = onlyKey(world).keyId
    world.keys.clear()
    world.resource = undefined
    settle(world)
    expect(onlyKey(world).keyId).toBe(keyId)
    expect(secretValue(world)).toBe(value)
    expect(readyOf(world)).toBe('Programmed')
  })

  test('of an ApiKey of another organization that is gone never lends its key: the new one gets its own', () => {
    const world = createReady()
    const { keyId } = onlyKey(world)
    world.object = undefined
    world.allowedOrganization = 'other'
    createObject(world, { organization: 'other' })
    settle(world)
    expect(world.keys.get(keyId)).toMatchObject({ revoked: true })
    expect(findOpened(world, secretValue(world))?.key.organization).toBe('other')
  })

  test('with an orphaned key comes home to an ApiKey of its name, with its API key and the limits of its spec', () => {
    const world = createOrphan()
    const value = secretValue(world)
    createObject(world, { limits: { rpm: 7 } })
    expect(pass(world)[1]).toMatchObject({ do: 'adoptKey', keyId: onlyKey(world).keyId })
    settle(world)
    expect(readyOf(world)).toBe('Programmed')
    expect(secretValue(world)).toBe(value)
    expect(onlyKey(world)).toMatchObject({ managedBy: 'kubernetes', limits: { rpm: 7 } })
    expect(world.secret?.metadata.ownerReferences).toMatchObject([{ uid: uidOf(world) }])
    if (world.object !== undefined) world.object.isTerminating = true
    settle(world)
    expect(onlyKey(world).revoked).toBe(true)
  })

  test.each<[string, (world: World) => Parameters<typeof createObject>[1]]>([
    ['that an ApiKey does not want', () => ({ adoption: 'Never' })],
    [
      'whose API key somebody changed',
      (world) => {
        editSecret(world, freshSecret(world))
        return {}
      },
    ],
    [
      'that the cabinet revoked',
      (world) => {
        onlyKey(world).revoked = true
        return {}
      },
    ],
    [
      'that no ApiKey of this name left behind',
      (world) => {
        world.orphans.clear()
        return {}
      },
    ],
    [
      'of another organization',
      (world) => {
        world.allowedOrganization = 'other'
        return { organization: 'other' }
      },
    ],
  ])('with an orphaned key %s is left alone', (_, change) => {
    const world = createOrphan()
    const fields = change(world)
    const value = secretValue(world)
    createObject(world, fields)
    settle(world)
    expect(readyOf(world)).toBe('SecretNotOwned')
    expect(secretValue(world)).toBe(value)
    expect(onlyKey(world).managedBy).toBe('cabinet')
  })

  test('of an orphaned key that was deleted is made for a new key: taking that one over would end what others use', () => {
    const world = createOrphan()
    const { keyId } = onlyKey(world)
    world.secret = undefined
    createObject(world)
    settle(world)
    expect(readyOf(world)).toBe('Programmed')
    expect(world.keys.get(keyId)).toMatchObject({ managedBy: 'cabinet', revoked: false })
    expect(findOpened(world, secretValue(world))?.key.keyId).not.toBe(keyId)
  })

  test('of an ApiKey that was deleted and created again holds the new key', () => {
    const world = createReady()
    if (world.object !== undefined) world.object.isTerminating = true
    settle(world)
    createObject(world) // sooner than the garbage collector
    settle(world)
    expect(readyOf(world)).toBe('Programmed')
    expect(findOpened(world, secretValue(world))?.key.revoked).toBe(false)
  })
})

describe('a key', () => {
  test('whose limits were changed behind the operator gets them back, with an event', () => {
    const world = createReady({ limits: { rpm: 10 } })
    onlyKey(world).limits = { rpm: 99 }
    expect(pass(world)[0]).toMatchObject({ do: 'updateKey', event: 'DriftCorrected', limits: { rpm: 10 } })
    setSpec(world, { limits: { rpm: 11 } })
    expect(pass(world)[0]).toMatchObject({ do: 'updateKey', event: undefined, limits: { rpm: 11 } })
  })

  test('gets the tags of its ApiKey in order, and keeps them in whatever order the ApiKey has them', () => {
    const world = createReady({ tags: ['web', 'team-a'] })
    expect(onlyKey(world).tags).toEqual(['team-a', 'web'])
    expect(pass(world).every((step) => step.do !== 'updateKey')).toBe(true)
    setSpec(world, { tags: [] })
    expect(pass(world)[0]).toMatchObject({ do: 'updateKey', event: undefined, tags: [] })
  })

  test('that the cabinet revoked stays revoked, and is not made again', () => {
    const world = createReady()
    const key = onlyKey(world)
    key.revoked = true
    for (const secret of key.secrets) secret.ended = true
    settle(world)
    onlyKey(world)
    expect(readyOf(world)).toBe('BlockedByCabinet')
  })

  test('that the cabinet revoked gets a new key when it is deleted and created again', () => {
    const world = createReady()
    const key = onlyKey(world)
    key.revoked = true
    for (const secret of key.secrets) secret.ended = true
    settle(world)
    if (world.object !== undefined) world.object.isTerminating = true
    settle(world)
    expect(world.object).toBeUndefined()
    createObject(world)
    settle(world)
    expect(readyOf(world)).toBe('Programmed')
    expect(findOpened(world, secretValue(world))?.key).toMatchObject({ revoked: false })
  })

  test('ends when its namespace may not use its organization any more; a namespace that may again gets a new one', () => {
    const world = createReady()
    const { keyId } = onlyKey(world)
    const before = secretValue(world)
    world.allowedOrganization = undefined
    settle(world)
    expect(onlyKey(world).revoked).toBe(true)
    expect(world.resource).toBeUndefined()
    expect(readyOf(world)).toBe('NamespaceNotAllowed')
    world.allowedOrganization = 'acme'
    settle(world)
    expect(world.keys.get(keyId)?.revoked).toBe(true)
    expect(secretValue(world)).not.toBe(before)
    expect(findOpened(world, secretValue(world))?.key.revoked).toBe(false)
    expect(readyOf(world)).toBe('Programmed')
  })

  test('ends with its namespace, before anything deletes its ApiKey', () => {
    const world = createReady()
    world.namespaceIsTerminating = true
    pass(world, { projects: 'never' })
    expect(onlyKey(world).revoked).toBe(true)
    expect(readyOf(world)).toBe('Revoking')
    settle(world)
    if (world.object !== undefined) world.object.isTerminating = true
    settle(world)
    expect(world.object).toBeUndefined()
  })

  test('that may outlive its ApiKey stays when its namespace goes', () => {
    const world = createReady({ deletionPolicy: 'Orphan' })
    world.namespaceIsTerminating = true
    settle(world)
    expect(onlyKey(world).revoked).toBe(false)
  })

  test('above the quota of its namespace is blocked, and no longer', () => {
    const world = createReady()
    world.overQuota = 'too many'
    settle(world)
    expect(onlyKey(world).blockedBy.has('kubernetes')).toBe(true)
    expect(readyOf(world)).toBe('QuotaExceeded')
    world.overQuota = undefined
    settle(world)
    expect(onlyKey(world).blockedBy.size).toBe(0)
    expect(readyOf(world)).toBe('Programmed')
  })

  test('that may outlive its ApiKey is blocked while its namespace may not use its organization, and no longer', () => {
    const world = createReady({ deletionPolicy: 'Orphan' })
    world.allowedOrganization = undefined
    settle(world)
    expect(onlyKey(world).blockedBy.has('kubernetes')).toBe(true)
    expect(readyOf(world)).toBe('NamespaceNotAllowed')
    world.allowedOrganization = 'acme'
    settle(world)
    expect(onlyKey(world).blockedBy.size).toBe(0)
    expect(readyOf(world)).toBe('Programmed')
  })

  test('is suspended, expired or blocked: not ready, and it reports which', () => {
    const world = createReady()
    setSpec(world, { suspended: true })
    settle(world)
    expect(readyOf(world)).toBe('Suspended')
    setSpec(world, { suspended: false, limits: { expiresAt: new Date(world.nowMs) } })
    settle(world)
    expect(readyOf(world)).toBe('Expired')
    setSpec(world, { limits: {} })
    onlyKey(world).blockedBy.add('owner')
    settle(world)
    expect(readyOf(world)).toBe('BlockedByCabinet')
  })
})

describe('a deleted ApiKey', () => {
  test('is gone once its key is revoked and the gateways know it', () => {
    const world = createReady()
    if (world.object !== undefined) world.object.isTerminating = true
    expect(pass(world).map((step) => step.do)).toEqual([
      'revokeKey',
      'awaitProjection',
      'forgetKey',
      'dropFinalizer',
    ])
    expect(onlyKey(world).revoked).toBe(true)
  })

  test('with Orphan leaves key and Secret, and the key is the cabinet`s', () => {
    const world = createReady({ deletionPolicy: 'Orphan' })
    if (world.object !== undefined) world.object.isTerminating = true
    const value = secretValue(world)
    expect(pass(world).map((step) => step.do)).toEqual(['releaseSecret', 'handOver', 'dropFinalizer'])
    expect(onlyKey(world)).toMatchObject({ managedBy: 'cabinet', revoked: false })
    expect(world.secret?.metadata.ownerReferences).toEqual([])
    expect(secretValue(world)).toBe(value)
  })

  test('whose key no gateway has ever known goes at once', () => {
    const world = createWorld()
    createObject(world)
    pass(world, { projects: 'never' })
    if (world.object !== undefined) world.object.isTerminating = true
    expect(pass(world, { projects: 'never' }).map((step) => step.do)).toEqual([
      'revokeKey',
      'forgetKey',
      'dropFinalizer',
    ])
  })

  test('stays until the gateways reject its key, for the configured time, and shows what is known', () => {
    const world = createReady()
    const { object } = world
    if (object === undefined) throw new Error('no object')
    object.isTerminating = true
    pass(world, { projects: 'never' })
    const at = (waitedMs: number) => {
      const gathered = gather(world, object, 'none')
      return { ...gathered, nowMs: gathered.nowMs + waitedMs }
    }
    expect(planKey(at(599_999))).toBeUndefined()
    expect(nextLook(at(0))).toEqual({ afterMs: 30_000 })
    expect(nextLook(at(30_000))).toEqual({ afterMs: 570_000 })
    expect([at(0), at(29_999), at(30_000)].map((gathered) => waitEvent(gathered)?.reason)).toEqual([
      undefined,
      undefined,
      'RevocationPending',
    ])
    expect(planKey(at(600_000))).toEqual({ do: 'forgetKey' })
    expect(eventOf({ do: 'forgetKey' }, at(600_000))).toMatchObject({
      type: 'Warning',
      reason: 'RevocationUnconfirmed',
      note: expect.stringContaining(onlyKey(world).keyId),
    })
    const { object: read } = at(0)
    expect(planKey({ ...at(0), object: { ...read, isGlassBroken: true } })).toEqual({ do: 'forgetKey' })
    project(world)
    expect(planKey(at(0))).toEqual({ do: 'forgetKey' })
    expect(eventOf({ do: 'forgetKey' }, at(0))).toMatchObject({ type: 'Normal', reason: 'KeyRevoked' })
  })
})

test('a key that the database lost is made again with its secret only where gateways would look for that', () => {
  const world = createReady()
  if (world.object === undefined) throw new Error('no object')
  const lostKeyId = world.resource?.subject
  const gathered = { ...gather(world, world.object, 'some'), resource: undefined, key: undefined, lostKeyId }
  expect(planKey(gathered)).toMatchObject({ do: 'restoreKey', keyId: lostKeyId })
  const { organization } = gathered
  const elsewhere = organization && { ...organization, shard: shardOf('another organization') }
  expect(planKey({ ...gathered, organization: elsewhere })).toMatchObject({ do: 'makeKey' })
})

test('a spec that cannot be read changes nothing', () => {
  const world = createReady()
  if (world.object === undefined) throw new Error('no object')
  const gathered = { ...gather(world, world.object, 'some'), draft: { fault: 'spec.limits: wrong' } }
  expect(planKey(gathered)).toBeUndefined()
  expect(verdictsOf(gathered).Accepted).toEqual({
    status: 'False',
    reason: 'InvalidSpec',
    message: 'spec.limits: wrong',
  })
})

function uidOf({ object }: World): string | undefined {
  return object?.uid
}

/** A world in which a deleted ApiKey left its key and its Secret behind. */
function createOrphan(): World {
  const world = createReady({ deletionPolicy: 'Orphan' })
  if (world.object !== undefined) world.object.isTerminating = true
  settle(world)
  expect(world.object).toBeUndefined()
  return world
}

function removeSecret(world: World): void {
  world.secret = undefined
}

/** A user removes the API key from the Secret. */
function removeValue(world: World): void {
  if (world.secret !== undefined) world.secret = { ...world.secret, data: {} }
}

function fail(): never {
  throw new Error('there is none')
}
