import type { Running } from '#core/admission/admission'
import type { Hold } from '#core/admission/admission-reply'
import type { RequestRecord } from '#core/ledger/request-record'
import type { Shard } from '#core/redis/shard'

/** How far a running request has come, in the words of the charge it would get if its gateway died now. */
export type Progress = { readonly costNano: bigint; readonly record: RequestRecord }

/** An admitted request that has not ended. `progress` is asked at every renewal, so it must be cheap. */
export type OpenRequest = { readonly hold: Hold; readonly progress: () => Progress }

/** The requests of this replica that hold money, by shard. */
export type OpenRequests = {
  count(): number
  add(request: OpenRequest): void
  remove(hold: Hold): void
  shards(): readonly Shard[]
  /** The renewal of each open request of a shard, created on demand: a long list may be sent in parts. */
  running(shard: Shard): Iterable<Running>
}

export function createOpenRequests(): OpenRequests {
  const shards = new Map<Shard, Map<string, OpenRequest>>()
  let count = 0
  return {
    count: () => count,
    add(request) {
      const { shard, requestId } = request.hold
      const requests = shards.get(shard) ?? new Map<string, OpenRequest>()
      shards.set(shard, requests.set(requestId, request))
      count += 1
    },
    remove({ shard, requestId }) {
      const requests = shards.get(shard)
      if (requests?.delete(requestId)) count -= 1
      if (requests?.size === 0) shards.delete(shard)
    },
    shards: () => [...shards.keys()],
    *running(shard) {
      for (const { hold, progress } of shards.get(shard)?.values() ?? []) yield { hold, ...progress() }
    },
  }
}
