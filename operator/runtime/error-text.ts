/** What a log line says of an error: no stack, no cause, no properties, which may hold more than the log may have. */
export function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
