/** What is wrong on which pages: a fault of a frame is on all of them, and is told once. */
export class Faults {
  readonly #places = new Map<string, string[]>()

  note(place: string, found: readonly string[]): void {
    for (const fault of found) this.#places.set(fault, [...(this.#places.get(fault) ?? []), place])
  }

  all(): readonly string[] {
    return [...this.#places].map(([fault, [first, ...more]]) =>
      more.length === 0 ? `${first}: ${fault}` : `${first} and ${more.length} more: ${fault}`,
    )
  }
}
