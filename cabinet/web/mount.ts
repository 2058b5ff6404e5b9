import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Paths that another process serves in a cluster, where the ingress separates them. `npm start` has no ingress, so the
 * cabinet's port passes these requests on, unread.
 */
export type Mount = {
  /** The prefix of its paths, with a slash at both ends. */
  readonly path: string
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}
