/** Problems by page: a problem of a frame occurs on all pages and is listed once. */
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
