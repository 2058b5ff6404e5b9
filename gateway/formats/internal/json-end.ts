const significant = /["\\{}[\]]/g

/** Finds the end of a growing JSON object or array by its brackets, without reading anything twice. */
export class JsonEnd {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #hasBegun = false

  add(piece: string): void {
    let from = 0
    if (this.#isEscaped && piece !== '') {
      this.#isEscaped = false
      from = 1
    }
    significant.lastIndex = from
    for (let found = significant.exec(piece); found !== null; found = significant.exec(piece)) {
      const [sign] = found
      if (sign === '\\') {
        if (!this.#isInString) continue
        this.#isEscaped = significant.lastIndex === piece.length
        significant.lastIndex += 1
      } else if (sign === '"') this.#isInString = !this.#isInString
      else if (!this.#isInString) this.#nest(sign === '{' || sign === '[' ? 1 : -1)
    }
  }

  /** Whether everything that was opened is closed. */
  isReached(): boolean {
    return this.#hasBegun && this.#depth <= 0 && !this.#isInString
  }

  #nest(by: 1 | -1): void {
    this.#hasBegun = true
    this.#depth += by
  }
}
