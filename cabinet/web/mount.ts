import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * What another process answers in a cluster, whose ingress parts the two by their paths. `npm start` has no ingress: there
 * the cabinet's port hands these requests over as they came, unread.
 */
export type Mount = {
  /** The beginning of its paths, with a slash at both ends. */
  readonly path: string
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}
