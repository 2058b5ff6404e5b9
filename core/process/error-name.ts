/** The part of an error that may be logged if its message may hold user input: its code or its name. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
