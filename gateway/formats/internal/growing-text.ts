/** Longer pieces, in UTF-16 units, are few, and copying them one by one would take longer than keeping them. */
const copiedLengthMax = 256
const unitsMin = 512

/**
 * A text that grows by small pieces.
 *
 * Their units are copied. Kept as strings, the pieces of some hundred slow streams would be many young objects. The collector
 * would move them again and again, and push the data of all other work out of the processor's caches.
 */
export class GrowingText {
  #joined = ''
  #units = nothingYet
  #length = 0

  add(piece: string): void {
    if (piece.length > copiedLengthMax) {
      this.#joined = this.text() + piece
      return
    }
    const end = this.#length + piece.length
    if (end > this.#units.length) this.#units = enlarged(this.#units, end)
    const units = this.#units
    for (let at = this.#length, from = 0; at < end; at += 1, from += 1) units[at] = piece.charCodeAt(from)
    this.#length = end
  }

  /** Takes its last units back. */
  shorten(length: number): void {
    const text = this.text()
    this.#joined = text.slice(0, Math.max(0, text.length - length))
  }

  /** All of it so far. */
  text(): string {
    if (this.#length === 0) return this.#joined
    const bytes = Buffer.from(this.#units.buffer, 0, this.#length * Uint16Array.BYTES_PER_ELEMENT)
    this.#joined += bytes.toString('utf16le')
    this.#length = 0
    return this.#joined
  }
}

const nothingYet = new Uint16Array(0)

function enlarged(units: Uint16Array<ArrayBuffer>, needed: number): Uint16Array<ArrayBuffer> {
  const larger = new Uint16Array(Math.max(needed, units.length * 2, unitsMin))
  larger.set(units)
  return larger
}
