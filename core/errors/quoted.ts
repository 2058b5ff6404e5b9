const echoLengthMax = 200

/** What the caller sent, short enough to be read back. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > echoLengthMax ? `${text.slice(0, echoLengthMax)}…` : text)
}
