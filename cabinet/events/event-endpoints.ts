import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { readEvents } from './event-contracts.ts'
import type { LiveEvents } from './live-events.ts'

/** By then, another stream of the same user may have ended. */
const retryAfterS = 30

/** The event stream of an organization's pages, over HTTP. */
export function eventEndpoints({ liveEvents }: { readonly liveEvents: LiveEvents }): readonly Endpoint[] {
  return [
    endpoint(readEvents, async ({ caller, query }) => {
      const watch = liveEvents.watch(caller, query.since_ms)
      if (watch === 'too_many_of_person') return { problem: { code: 'rate_limited', retryAfterS } }
      if (watch === 'full') return { problem: { code: 'service_unavailable', retryAfterS } }
      return { status: 200 as const, events: watch }
    }),
  ]
}
