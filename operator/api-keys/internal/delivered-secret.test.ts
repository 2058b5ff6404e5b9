import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { hashKey, type KeySecret, writeKey } from '#core/keys/key'
import type { Shard } from '#core/redis/shard'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import {
  findHeldSecret,
  newSecret,
  type SecretWish,
  secretChange,
  secretRelease,
  viewSecret,
} from './delivered-secret.ts'
import { mergePatched } from './merge-patch.fixture.ts'

const pepper = 'pepper'
const hashSecret = (keySecret: KeySecret) => hashKey(keySecret, pepper)
const keySecret = writeKey(7 as Shard, randomBytes(32), pepper)
const next = writeKey(7 as Shard, randomBytes(32), pepper)
const wish: SecretWish = {
  namespace: 'team-a',
  name: 'ci-apikey',
  owner: { name: 'ci', uid: 'uid-1' },
  keyId: 'key-1',
  knownHashes: new Set([hashSecret(keySecret), hashSecret(next)]),
  entry: 'OPENAI_API_KEY',
  baseUrlEntry: 'OPENAI_BASE_URL',
  baseUrl: 'http://gateway/v1',
  template: { labels: {}, annotations: {} },
}
const ours = newSecret(wish, { keySecret, rotationTrigger: 'one' })
const encode = (value: string) => Buffer.from(value).toString('base64')

function withMetadata(fields: Partial<ClusterObject['metadata']>): ClusterObject {
  return { ...ours, metadata: { ...ours.metadata, ...fields } }
}

function controlledBy(kind: string, name: string, uid: string) {
  return { ownerReferences: [{ apiVersion: 'modelgateway.dev/v1alpha1', kind, name, uid, controller: true }] }
}

describe('a Secret is ours', () => {
  test('when this ApiKey controls it, and then it is seen whole', () => {
    expect(viewSecret(ours, wish, pepper)).toEqual({
      state: 'ours',
      value: hashSecret(keySecret),
      shard: 7,
      keyId: 'key-1',
      elsewhere: [],
      rotationTrigger: 'one',
      isOwned: true,
      isTidy: true,
    })
  })

  test('when an ApiKey of its name that is gone controls it, with our label, whatever its key', () => {
    const left = withMetadata(controlledBy('ApiKey', 'ci', 'uid-0'))
    expect(viewSecret(left, { ...wish, keyId: 'key-2' }, pepper)).toMatchObject({
      state: 'ours',
      isOwned: false,
    })
  })

  test('when no object controls it and it contains our key', () => {
    const left = withMetadata({ ownerReferences: [] })
    expect(viewSecret(left, wish, pepper)).toMatchObject({ state: 'ours', isOwned: false, isTidy: false })
  })
})

describe('a Secret is not ours', () => {
  test.each([
    ['that another ApiKey controls', withMetadata(controlledBy('ApiKey', 'other', 'uid-9'))],
    ['that another kind controls', withMetadata(controlledBy('Deployment', 'ci', 'uid-9'))],
    [
      'of another key that nobody controls',
      withMetadata({ ownerReferences: [], annotations: { 'modelgateway.dev/key-id': 'key-9' } }),
    ],
    ['without our label that nobody controls', withMetadata({ ownerReferences: [], labels: {} })],
    ['of anybody', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ci-apikey' } }],
  ])('%s', (_, secret) => {
    expect(viewSecret(secret, wish, pepper)).toMatchObject({ state: 'foreign' })
  })

  test('that contains our key while no key is known', () => {
    const left = withMetadata({ ownerReferences: [], annotations: {} })
    expect(viewSecret(left, { ...wish, keyId: undefined }, pepper).state).toBe('foreign')
  })
})

describe('what a Secret holds', () => {
  test('is absent, foreign, or known by its hash', () => {
    const holding = (data: Record<string, string>) => viewSecret({ ...ours, data }, wish, pepper)
    expect(holding({})).toMatchObject({ value: 'absent' })
    expect(holding({ OPENAI_API_KEY: encode('sk-of-somebody') })).toMatchObject({ value: 'foreign' })
    expect(holding({ OLD: encode(keySecret) })).toMatchObject({
      value: 'absent',
      elsewhere: [hashSecret(keySecret)],
    })
    expect(holding({ constructor: encode('x') })).toMatchObject({ value: 'absent' })
  })

  test('is found wherever it is, and never part of the view', () => {
    expect(findHeldSecret({ ...ours, data: { OLD: encode(keySecret) } }, hashSecret(keySecret), pepper)).toBe(
      keySecret,
    )
    expect(JSON.stringify(viewSecret(ours, wish, pepper))).not.toContain(keySecret.slice(15, -4))
  })
})

describe('a change', () => {
  test('writes the new secret, removes ours under earlier names, and leaves what others wrote', () => {
    const secret = {
      ...ours,
      data: { TOKEN: encode(keySecret), URL: encode(wish.baseUrl), MINE: encode('mine') },
    }
    expect(secretChange(secret, wish, { keySecret: next, rotationTrigger: null }, pepper)).toEqual({
      metadata: {
        labels: { 'app.kubernetes.io/managed-by': 'model-gateway-operator' },
        annotations: { 'modelgateway.dev/key-id': 'key-1', 'modelgateway.dev/rotation-trigger': null },
        ownerReferences: ours.metadata.ownerReferences,
      },
      data: { TOKEN: null, URL: null, OPENAI_API_KEY: encode(next), OPENAI_BASE_URL: encode(wish.baseUrl) },
    })
  })

  test('leaves the trigger of a secret that stays', () => {
    const { metadata } = secretChange(ours, wish, { keySecret }, pepper)
    expect(metadata?.annotations).toEqual({ 'modelgateway.dev/key-id': 'key-1' })
  })

  test('that releases a Secret takes only this ApiKey from its owners', () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'uid-2' }
    const secret = withMetadata({ ownerReferences: [...(ours.metadata.ownerReferences ?? []), other] })
    expect(secretRelease(secret, 'uid-1')).toEqual({ metadata: { ownerReferences: [other] } })
  })
})

describe('the template', () => {
  const templated = (labels: Record<string, string>, annotations: Record<string, string> = {}) => ({
    ...wish,
    template: { labels, annotations },
  })
  const change = (secret: ClusterObject, wanted: SecretWish) =>
    mergePatched(secret, secretChange(secret, wanted, { keySecret }, pepper))
  const isTidy = (secret: ClusterObject, wanted: SecretWish) => {
    const view = viewSecret(secret, wanted, pepper)
    return view.state === 'ours' && view.isTidy
  }

  test('of a new Secret is there from the beginning, and ours win', () => {
    const wanted = templated(
      { team: 'a', 'app.kubernetes.io/managed-by': 'somebody' },
      { 'example.com/x': '1' },
    )
    const made = newSecret(wanted, { keySecret, rotationTrigger: 'one' })
    expect(made.metadata.labels).toEqual({
      team: 'a',
      'app.kubernetes.io/managed-by': 'model-gateway-operator',
    })
    expect(made.metadata.annotations).toMatchObject({
      'example.com/x': '1',
      'modelgateway.dev/key-id': 'key-1',
    })
    expect(isTidy(made, wanted)).toBe(true)
  })

  test('that changes reaches the Secret, and what it no longer has goes; labels of others stay', () => {
    const others = withMetadata({ labels: { ...ours.metadata.labels, theirs: 'stays' } })
    const first = templated({ team: 'a', old: '1' }, { 'example.com/x': '1' })
    expect(isTidy(others, first)).toBe(false)
    const written = change(others, first)
    expect(isTidy(written, first)).toBe(true)
    const second = templated({ team: 'b' })
    expect(isTidy(written, second)).toBe(false)
    const changed = change(written, second)
    expect(isTidy(changed, second)).toBe(true)
    expect(changed.metadata.labels).toEqual({ ...ours.metadata.labels, team: 'b', theirs: 'stays' })
    expect(changed.metadata.annotations).not.toHaveProperty(['example.com/x'])
    expect(change(changed, wish).metadata).toMatchObject(ours.metadata)
    expect(change(changed, wish).metadata.annotations).toEqual(ours.metadata.annotations)
  })

  test('that a user overwrote in the Secret is written again', () => {
    const wanted = templated({ team: 'a' })
    const made = newSecret(wanted, { keySecret, rotationTrigger: 'one' })
    const { team: _, ...labels } = made.metadata.labels ?? {}
    const edited = { ...made, metadata: { ...made.metadata, labels } }
    expect(isTidy(edited, wanted)).toBe(false)
    expect(change(edited, wanted)).toEqual(made)
  })
})
