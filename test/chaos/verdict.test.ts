import { describe, expect, test } from 'vitest'
import { uuidV7 } from '../support/customer.ts'
import type { Booked } from './books.ts'
import type { Call } from './journal.ts'
import type { Asked } from './load.ts'
import { overdraftsOf } from './overdraft.ts'
import {
  bodyOf,
  findTag,
  imageTokens,
  model,
  planOf,
  price,
  tagOfDropped,
  tagParameters,
} from './request-plan.ts'
import { judge } from './verdict.ts'

const costNano = 20n * price.inputNano + 50n * price.outputNano
const usage = { promptTokens: 20, completionTokens: 50 }
const call: Call = { behaviour: 'answers', characters: 100, usage }

function askedOf(fields: Partial<Asked> = {}): Asked {
  return {
    how: 'whole',
    requestId: uuidV7(),
    status: 200,
    code: null,
    toldNano: costNano,
    toldUsage: usage,
    tag: 1,
    stream: false,
    organizationId: 'organization',
    bodyBytes: 200,
    slot: 'gateway-0',
    pid: 1,
    fromMs: 0,
    toMs: 10,
    ...fields,
  }
}

function bookedOf(asked: Asked, fields: Partial<Booked> = {}): Booked {
  return {
    requestId: asked.requestId ?? uuidV7(),
    tag: asked.tag,
    organizationId: asked.organizationId,
    costNano,
    chargeRows: 1,
    adjustRows: 0,
    outcome: 'completed',
    usageSource: 'provider',
    ...fields,
  }
}

function kindsOf(
  asked: Asked,
  booked: readonly Booked[],
  calls: readonly Call[] = [call],
  endedPids = new Map<number, number>(),
) {
  return judge({ asked: [asked], callsOf: () => calls, booked, endedPids }).map(({ kind }) => kind)
}

describe('an answer read to its last byte', () => {
  const asked = askedOf()

  test('is in order when it is charged once, exactly', () => {
    expect(kindsOf(asked, [bookedOf(asked)])).toEqual([])
  })

  test('is lost without a charge', () => {
    expect(kindsOf(asked, [])).toEqual(['lost'])
    expect(kindsOf(asked, [bookedOf(asked, { costNano: 0n, chargeRows: 0 })])).toEqual(['lost'])
  })

  test('is a duplicate with two charges, of one id or of two', () => {
    expect(kindsOf(asked, [bookedOf(asked, { chargeRows: 2 })])).toEqual(['duplicate'])
    expect(kindsOf(asked, [bookedOf(asked), bookedOf(asked, { requestId: uuidV7() })])).toEqual(['duplicate'])
  })

  test('is wrong by a nano-ruble, on either side', () => {
    expect(kindsOf(asked, [bookedOf(asked, { costNano: costNano + 1n })])).toContain('wrong_amount')
    expect(kindsOf(askedOf({ ...asked, toldNano: costNano - 1n }), [bookedOf(asked)])).toEqual([
      'wrong_amount',
    ])
    const other: Call = { ...call, usage: { ...usage, completionTokens: 51 } }
    expect(kindsOf(asked, [bookedOf(asked)], [other])).toEqual(['wrong_amount'])
  })

  test('is wrong when another organization paid for it', () => {
    expect(kindsOf(asked, [bookedOf(asked, { organizationId: 'another' })])).toEqual(['wrong_amount'])
  })
})

describe('any other answer', () => {
  const left = askedOf({ how: 'left', requestId: null, status: null, toldNano: null, toldUsage: null })

  test('may be charged once, by the provider’s usage or by its text, or not at all', () => {
    expect(kindsOf(left, [])).toEqual([])
    expect(kindsOf(left, [bookedOf(left)])).toEqual([])
    const estimated = (200n + BigInt(imageTokens)) * price.inputNano + 100n * price.outputNano
    expect(kindsOf(left, [bookedOf(left, { costNano: estimated })], [{ ...call, usage: null }])).toEqual([])
    expect(kindsOf(left, [bookedOf(left, { costNano: estimated + 1n })], [{ ...call, usage: null }])).toEqual(
      ['wrong_amount'],
    )
  })

  test('is never charged when the provider was not called, or without a request', () => {
    expect(kindsOf(left, [bookedOf(left)], [])).toEqual(['unseen'])
    expect(kindsOf(left, [bookedOf(left, { tag: undefined })])).toEqual(['unseen'])
  })

  test('is never charged when the client got an error, unless its gateway died with the correction', () => {
    const failed = askedOf({ status: 503, toldNano: null, toldUsage: null })
    expect(kindsOf(failed, [bookedOf(failed)])).toEqual(['in_vain'])
    expect(kindsOf(failed, [bookedOf(failed)], [call], new Map([[failed.pid, failed.toMs - 1]]))).toEqual([])
    expect(kindsOf(failed, [bookedOf(failed)], [call], new Map([[failed.pid, failed.toMs + 1]]))).toEqual([
      'in_vain',
    ])
  })
})

test('a 401 is a breach whatever was broken, a 403 or 503 is none', () => {
  const answered = (status: number) => kindsOf(askedOf({ status, toldNano: null, toldUsage: null }), [], [])
  expect([401, 403, 503].map(answered)).toEqual([['disowned'], [], []])
})

test('a request’s tag reaches the provider by its message and the ledger by its dropped parameters', () => {
  const body = bodyOf(planOf(7, 123_456), model)
  expect(findTag(body)).toBe(123_456)
  expect(tagOfDropped(Object.keys(JSON.parse(body)).filter((name) => tagParameters.includes(name)))).toBe(
    123_456,
  )
})

test('the bound of an overdraft is one hold, and those that slept through a loss', () => {
  const asked = [askedOf({ fromMs: 0, toMs: 5_000 }), askedOf({ fromMs: 0, toMs: 10 })]
  const lowestBalances = new Map([['organization', -5n]])
  const bound = (...freezes: readonly { slot: string; fromMs: number; toMs: number; keptMs: number }[]) =>
    overdraftsOf({ lowestBalances, asked, freezes, lossesAtMs: [] })[0]
  const span = { fromMs: 1_000, toMs: 9_000, keptMs: 0 }
  const one = bound()?.boundNano ?? 0n
  expect(bound()?.overdraftNano).toBe(5n)
  expect(bound({ ...span, slot: 'gateway-0' })?.boundNano).toBe(2n * one)
  expect(bound({ ...span, slot: 'gateway-1' })?.boundNano).toBe(one)
})
