/**
 * SQLSTATE of an error that the data itself causes: classes 22 (data), 23 (constraint) and 54 (too large for an index or
 * a row). `undefined`: any other error; it may go away by itself.
 */
export function dataErrorOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(22|23|54)/.test(code) ? code : undefined
}

/** Which unique constraint a statement has violated; `undefined`: another error. */
export function violatedUniqueOf(error: unknown): string | undefined {
  if (dataErrorOf(error) !== '23505' || !(error instanceof Error && 'constraint' in error)) return undefined
  return String(error.constraint)
}
