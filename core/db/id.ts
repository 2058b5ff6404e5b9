const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether Postgres would read this text as an id. */
export function isId(text: string): boolean {
  return idPattern.test(text)
}
