/** Money as a whole number of nano-rubles: 1 ₽ = 1_000_000_000n. Never a `number`. */
export type NanoRub = bigint & { readonly __brand: 'NanoRub' }

const nanoPerRub = 1_000_000_000n
const rubPattern = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/

/** Marks a whole number of nano-rubles as money. */
export function nanoRub(value: bigint): NanoRub {
  return value as NanoRub
}

/** The plain decimal of an amount: no exponent, no trailing zeros, at most 9 fraction digits. */
export function formatRub(amount: NanoRub): string {
  const magnitude = amount < 0n ? -amount : amount
  const fraction = String(magnitude % nanoPerRub)
    .padStart(9, '0')
    .replace(/0+$/, '')
  const whole = `${amount < 0n ? '-' : ''}${magnitude / nanoPerRub}`
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** Parses a plain decimal of rubles; `undefined` if it is not one or has more than 9 fraction digits. */
export function findRub(text: string): NanoRub | undefined {
  const match = rubPattern.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = ''] = match
  const magnitude = BigInt(whole) * nanoPerRub + BigInt(fraction.padEnd(9, '0'))
  return nanoRub(sign === '-' ? -magnitude : magnitude)
}

/** JSON in which every bigint is its decimal text. */
export function jsonWithBigints(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))
}
