/**
 * SQLSTATE of an error that the data themselves cause: classes 22 (data), 23 (constraint) and 54 (too large for an index
 * or a row). `undefined`: another one, which may heal by waiting.
 */
export function dataErrorOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(22|23|54)/.test(code) ? code : undefined
}
