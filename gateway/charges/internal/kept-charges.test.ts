import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Charge } from '#core/admission/admission'
import type { ChargeKind } from '#core/ledger/charge-kind'
import { noTokens } from '#core/ledger/price'
import type { Shard } from '#core/redis/shard'
import { createKeptCharges, isAtOrBefore } from './kept-charges.ts'

const shard = 7 as Shard

function chargeOf(requestId: string, chargeKind: ChargeKind = 'settled'): Charge {
  const hold = {
    requestId,
    shard,
    organizationId: randomUUID(),
    keyId: randomUUID(),
    day: 20_000,
    owners: '-',
    second: 1_800_000_000,
    holdNano: 10n,
    deadlineMs: 600_000,
    tokens: 5,
  }
  const record = {
    endpoint: 'chat',
    modelAsked: 'demo/echo',
    modelRan: 'demo/echo',
    outcome: 'completed',
    status: 200,
    errorCode: null,
    stream: false,
    priceId: null,
    tokens: noTokens,
    usageSource: 'provider',
    attempts: [],
    droppedParameters: [],
    outputLimit: null,
    firstContentMs: 1,
    totalMs: 2,
  } as const
  return {
    hold,
    chargeKind,
    costNano: 7n,
    tokens: 5,
    record: { ...record, attempts: [], droppedParameters: [] },
  }
}

describe('a buffered charge', () => {
  test('is freed only when its own generation has posted beyond its entry', () => {
    const kept = createKeptCharges()
    const charge = chargeOf('a')
    kept.keep(charge, 1000)
    kept.acknowledge(charge, '5-1', 'generation one')
    kept.freePosted(shard, 'generation one', '5-0')
    expect(kept.size).toBe(1)
    kept.freePosted(shard, 'generation two', '9-0')
    expect(kept.size).toBe(1)
    kept.freePosted(shard, 'generation one', '5-1')
    expect(kept.size).toBe(0)
    expect(kept.shards()).toEqual([])
  })

  test('is not looked at each time that one of thousands before it is posted', () => {
    const kept = createKeptCharges()
    const count = 100_000
    const charge = chargeOf('a')
    for (let n = 0; n < count; n++) {
      const each = { ...charge, hold: { ...charge.hold, requestId: `request ${n}` } }
      kept.keep(each, 1000)
      kept.acknowledge(each, `5-${n}`, 'generation one')
    }
    const before = process.threadCpuUsage()
    for (let n = 0; n < count; n += 100) kept.freePosted(shard, 'generation one', `5-${n}`)
    expect(kept.size).toBe(99)
    expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(1_500) // 0.1 s; all of them each time: 4 s
  })

  test('acknowledged after the update that it is posted is freed at once', () => {
    const kept = createKeptCharges()
    const charge = chargeOf('a')
    kept.keep(charge, 1000)
    kept.freePosted(shard, 'generation one', '9-0')
    kept.acknowledge(charge, '5-1', 'generation one')
    expect(kept.size).toBe(0)
  })

  test('that was posted may be posted again and again, also where nothing remembers the first time', () => {
    const kept = createKeptCharges()
    const charge = chargeOf('a')
    kept.keep(charge, 0, 5)
    expect(kept.bookableUntilMs(charge)).toBe(5)
    kept.noteBooked(charge)
    expect(kept.bookableUntilMs(charge)).toBeUndefined()
    expect(kept.unacknowledged(shard, 'n')).toEqual([charge])
  })

  test('that was never acknowledged is never freed, and is sent again', () => {
    const kept = createKeptCharges()
    const charge = chargeOf('a')
    kept.keep(charge, 1000)
    kept.freePosted(shard, 'n', '99999-0')
    expect(kept.unacknowledged(shard, 'n')).toEqual([charge])
  })

  test('acknowledged in a lost generation is sent again in the new one', () => {
    const kept = createKeptCharges()
    const charge = chargeOf('a')
    kept.keep(charge, 1000)
    kept.acknowledge(charge, '5-1', 'old')
    expect(kept.unacknowledged(shard, 'old')).toEqual([])
    expect(kept.unacknowledged(shard, 'new')).toEqual([charge])
  })

  test('gives way to a correction, and a late answer to the first does not count as the correction’s', () => {
    const kept = createKeptCharges()
    const first = chargeOf('a')
    const correction = chargeOf('a', 'corrected')
    kept.keep(first, 1000)
    kept.keep(correction, 2000)
    kept.keep(first, 3000)
    kept.acknowledge(first, '5-1', 'n')
    expect(kept.unacknowledged(shard, 'n')).toEqual([correction])
    expect(kept.size).toBe(1)
    expect(kept.oldestAtMs()).toBe(1000)
  })
})

test('stream ids compare by time, then by sequence, as numbers', () => {
  expect(isAtOrBefore('9-9', '10-0')).toBe(true)
  expect(isAtOrBefore('10-2', '10-10')).toBe(true)
  expect(isAtOrBefore('10-10', '10-10')).toBe(true)
  expect(isAtOrBefore('10-11', '10-10')).toBe(false)
  expect(isAtOrBefore('11-0', '10-10')).toBe(false)
})
