/**
 * A whole number as users type or paste it, with blanks or full-width digits; `undefined`: none, or above `max`. Pure.
 */
export function findTypedCount(text: string, max: bigint): bigint | undefined {
  const digits = text.normalize('NFKC').replace(/[\s_]/gu, '')
  if (!/^\d{1,20}$/.test(digits)) return undefined
  const count = BigInt(digits)
  return count <= max ? count : undefined
}
