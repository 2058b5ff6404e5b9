/** What a log may say of an error whose message may hold what was sent: its code or its name. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
