/** Pieces kept apart until they are put together: each may hold on to the whole read that it was cut from. */
const looseMax = 64

/** A text that grows by small pieces and takes little more memory than its characters. */
export class GrowingText {
  #joined = ''
  #loose: string[] = []

  add(piece: string): void {
    if (this.#loose.push(piece) >= looseMax) this.#join()
  }

  /** All of it so far. */
  text(): string {
    this.#join()
    return this.#joined
  }

  #join(): void {
    this.#joined += this.#loose.join('')
    this.#loose = []
  }
}
