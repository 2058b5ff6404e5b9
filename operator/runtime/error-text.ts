/**
 * The text of an error for a log line: no stack, no cause, no properties, which may hold data that must not
 * be logged.
 */
export function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
