/** Deepest nesting of arrays and objects that is read in a JSON text, of clients and of providers. */
export const jsonDepthMax = 200

/** Whether a JSON text is nested deeper than `jsonDepthMax`. One pass without recursion; it reads tokens, not grammar. */
export function isTooDeep(text: string): boolean {
  if (text.length <= 2 * jsonDepthMax) return false // too short to close that many
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at)
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > jsonDepthMax) return true
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth--
    }
  }
  return false
}

/** Where the string that begins at `start` ends: its closing quote, or the end of the text. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

/** Of a UTF-16 unit. */
export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
