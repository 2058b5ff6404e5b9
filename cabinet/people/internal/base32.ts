/** Lower-case letters and digits that are hard to confuse (Crockford's alphabet). */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** Five bits per character. Remaining bits at the end are dropped. Pure. */
export function base32(bytes: Uint8Array): string {
  let text = ''
  let waiting = 0
  let waitingBits = 0
  for (const byte of bytes) {
    waiting = (waiting << 8) | byte
    waitingBits += 8
    for (; waitingBits >= 5; waitingBits -= 5) text += alphabet.charAt((waiting >> (waitingBits - 5)) & 31)
    waiting &= (1 << waitingBits) - 1
  }
  return text
}
