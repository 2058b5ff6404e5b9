/** Rubles with two decimals, in the provider's format: `100.00`, never `100`, `0100.00` or `1e2`. */
export const rubPattern = /^(?:0|[1-9]\d{0,11})\.\d{2}$/

/** @param rub matches `rubPattern` */
export function kopecksOf(rub: string): bigint {
  return BigInt(rub.replace('.', ''))
}

export function rubOf(kopecks: bigint): string {
  const digits = String(kopecks).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Rounded half up. */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  return (2n * dividend + divisor) / (2n * divisor)
}
