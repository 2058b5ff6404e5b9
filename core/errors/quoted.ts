const echoLengthMax = 200

/** User input, short enough to be quoted in an error. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > echoLengthMax ? `${text.slice(0, echoLengthMax)}…` : text)
}
