import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findRub, formatRub, jsonWithBigints, nanoRub } from './money.ts'

describe('an amount of rubles', () => {
  test.each([
    [0n, '0'],
    [1n, '0.000000001'],
    [-1n, '-0.000000001'],
    [1_500_000_000n, '1.5'],
    [1_000_000_000_000n, '1000'],
    [-20_000_000_010n, '-20.00000001'],
  ])('%s nano-rubles is written %s', (nano, text) => {
    expect(formatRub(nanoRub(nano))).toBe(text)
  })

  test('is read back exactly as it was written', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nano) => {
        expect(findRub(formatRub(nanoRub(nano)))).toBe(nano)
      }),
    )
  })

  test.each(['', '.5', '1.', '1e3', '1,5', '0.0000000001', ' 1', '+1', '12345678901', 'NaN'])(
    'is not what %j says',
    (text) => {
      expect(findRub(text)).toBeUndefined()
    },
  )
})

test('a bigint in JSON is its decimal text, however deep and however large', () => {
  expect(jsonWithBigints({ a: [{ b: 10n ** 20n }], c: 'x', d: 1 })).toBe(
    '{"a":[{"b":"100000000000000000000"}],"c":"x","d":1}',
  )
})
