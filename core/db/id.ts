const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether Postgres would read this text as an id. */
export function isId(text: string): boolean {
  return idPattern.test(text)
}

/** The milliseconds at the beginning of a UUIDv7, as `uuid_time` of Postgres. Pure. */
export function timeInId(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}
