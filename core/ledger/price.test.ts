import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonWithBigints, nanoRub } from './money.ts'
import { costOf, dearestInput, dearestOutput, noTokens, type Price, priceSchema } from './price.ts'

const price: Price = {
  id: randomUUID(),
  input: nanoRub(15_500n),
  cachedInput: nanoRub(7_750n),
  cacheWrite: nanoRub(18_600n),
  output: nanoRub(62_000n),
  reasoning: null,
  perRequest: nanoRub(5n),
}
const tokens = { input: 100, cachedInput: 20, cacheWrite: 10, output: 7, reasoning: 3 }

describe('the cost of a request', () => {
  test('is the exact sum over disjoint classes and the price per request', () => {
    expect(costOf(tokens, price)).toBe(100n * 15_500n + 20n * 7_750n + 10n * 18_600n + 10n * 62_000n + 5n)
  })

  test('never takes a class without a price for free', () => {
    const bare = { ...price, cachedInput: null, cacheWrite: null, reasoning: null }
    expect(costOf(tokens, bare)).toBe(130n * 15_500n + 10n * 62_000n + 5n)
  })

  test('keeps an explicit price of 0', () => {
    expect(costOf({ ...noTokens, cachedInput: 9 }, { ...price, cachedInput: nanoRub(0n) })).toBe(5n)
  })

  test('is 0 for a free model', () => {
    expect(costOf(tokens, null)).toBe(0n)
  })

  test('is exact beyond what a double can hold', () => {
    const dear = { ...price, input: nanoRub(999_999_999_999_999n), perRequest: nanoRub(0n) }
    expect(costOf({ ...noTokens, input: 1_000_003 }, dear)).toBe(999_999_999_999_999n * 1_000_003n)
  })

  test('is refused for counts that are no counts', () => {
    for (const input of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => costOf({ ...noTokens, input }, price)).toThrow(RangeError)
  })

  test('is never more than all tokens at the highest price of their side', () => {
    const count = fc.nat({ max: 1_000_000 })
    const classes = fc.record({
      input: count,
      cachedInput: count,
      cacheWrite: count,
      output: count,
      reasoning: count,
    })
    fc.assert(
      fc.property(classes, (tokens) => {
        const prompt = BigInt(tokens.input + tokens.cachedInput + tokens.cacheWrite)
        const completion = BigInt(tokens.output + tokens.reasoning)
        const most = prompt * dearestInput(price) + completion * dearestOutput(price) + price.perRequest
        expect(costOf(tokens, price)).toBeLessThanOrEqual(most)
      }),
    )
  })
})

test('a price travels as decimal strings and comes back as whole nano-rubles', () => {
  const json = jsonWithBigints(price)
  expect(priceSchema.parse(JSON.parse(json))).toEqual(price)
})
