/**
 * Requests whose responses are read without their clients. No organization's disconnects may use up a
 * gateway's capacity. An organization above its share of abandoned requests waits for them to end.
 */
export type AbandonedRequests = {
  /** Counts one; call what it answers when it is over. */
  begin(owner: string, bodyBytes: number): () => void
  /** Whether new requests of this owner have to wait for its abandoned ones. */
  mustWait(owner: string): boolean
  count(): number
}

/** The part of a gateway's in-flight budget, requests and bodies, that abandoned requests may take. */
const share = 1 / 4

/**
 * @param budget the capacity of one gateway: requests, each of which has a connection, and bytes of their
 * bodies.
 */
export function createAbandonedRequests(budget: {
  readonly requestsMax: number
  readonly bodyBytesMax: number
}): AbandonedRequests {
  const byOwner = new Map<string, number>()
  let count = 0
  let bytes = 0

  function add(owner: string, change: 1 | -1, bodyBytes: number): void {
    const own = (byOwner.get(owner) ?? 0) + change
    if (own === 0) byOwner.delete(owner)
    else byOwner.set(owner, own)
    count += change
    bytes += change * bodyBytes
  }

  return {
    begin(owner, bodyBytes) {
      add(owner, 1, bodyBytes)
      return () => add(owner, -1, bodyBytes)
    },
    mustWait: (owner) =>
      (count >= share * budget.requestsMax || bytes >= share * budget.bodyBytesMax) && byOwner.has(owner),
    count: () => count,
  }
}
