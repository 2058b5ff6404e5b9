/** Whether both say the same as JSON, whatever the order of their fields: jsonb and the API server have their own. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return orderedJson(one) === orderedJson(other)
}

/** JSON with fields in order. */
export function orderedJson(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )
}
