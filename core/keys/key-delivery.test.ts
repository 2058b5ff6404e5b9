import { describe, expect, test } from 'vitest'
import type { KeyHash } from './key.ts'
import { type DeliveryFacts, deliveryOf } from './key-delivery.ts'
import type { SecretState } from './key-state.ts'

const [newest, older, stranger] = ['newest', 'older', 'stranger'] as KeyHash[] as [KeyHash, KeyHash, KeyHash]

function secret(hash: KeyHash, facts: Partial<SecretState> = {}): SecretState {
  const shown = { prefix: 'sk-gateway-0000', suffix: '0000' }
  return { hash, ...shown, validUntil: null, state: 'live', delivered: true, ...facts }
}

function delivery(held: DeliveryFacts['held'], facts: Partial<DeliveryFacts> = {}) {
  const secrets = [secret(newest), secret(older)]
  return deliveryOf({ secrets, trigger: { asked: 'a', noted: 'a' }, held, ...facts })
}

describe('the holder of a key', () => {
  test('has its newest delivered secret, and nothing is to do', () => {
    expect(delivery(newest)).toEqual({ is: 'done', hash: newest })
  })

  test('that has none, or an earlier one, is due a new one', () => {
    expect(delivery('absent')).toEqual({ is: 'due' })
    expect(delivery(older)).toEqual({ is: 'due' })
  })

  test('that took the current one away keeps it, until it no longer opens the key', () => {
    expect(delivery('taken')).toEqual({ is: 'done', hash: newest })
    expect(delivery('taken', { secrets: [secret(newest, { state: 'ended' })] })).toEqual({ is: 'due' })
  })

  test('that has other content was modified by a user, and nothing is overwritten', () => {
    expect(delivery('foreign')).toEqual({ is: 'modified' })
    expect(delivery(stranger)).toEqual({ is: 'modified' })
  })
})

describe('a new secret', () => {
  test('is due where another rotation trigger is asked for, and where none is asked for it is not', () => {
    expect(delivery(newest, { trigger: { asked: 'b', noted: 'a' } })).toEqual({ is: 'due' })
    expect(delivery('taken', { trigger: { asked: 'b', noted: null } })).toEqual({ is: 'due' })
    expect(delivery(newest, { trigger: { asked: null, noted: 'a' } })).toEqual({ is: 'done', hash: newest })
  })

  test('that the holder has is recorded as delivered before anything else; one that ended is replaced', () => {
    const rotation = { asked: 'b', noted: 'a' }
    const undelivered = secret(newest, { delivered: false })
    const secrets = [undelivered, secret(older)]
    expect(delivery(newest, { secrets, trigger: rotation })).toEqual({ is: 'unfinished', hash: newest })
    const ended = [{ ...undelivered, state: 'ended' } as const, secret(older)]
    expect(delivery(newest, { secrets: ended })).toEqual({ is: 'due' })
  })

  test('that never reached the holder is not the current one', () => {
    const secrets = [secret(newest, { delivered: false }), secret(older)]
    expect(delivery(older, { secrets })).toEqual({ is: 'done', hash: older })
  })
})
