import type { IncomingMessage } from 'node:http'
import type { Refusal } from '#core/errors/refusal'
import { tooManyRequestsOfOrganization } from '../wire/errors.ts'

/**
 * The share of one organization: it takes several organizations with their full shares to use every
 * connection.
 */
const organizationShare = 1 / 8

/** Requests that keep a connection waiting, for a large body or for an answer, of each organization. */
export type ConnectionShare = {
  /**
   * Counts a request, once, as its organization's; the error if that has its share already.
   *
   * Called as soon as the organization is known: before the rest of a large body is read, or when the request
   * was admitted.
   */
  take(request: IncomingMessage, organizationId: string): Refusal | undefined
  /** To be called once for each request at its end, counted or not. */
  release(request: IncomingMessage): void
}

/** @param connectionsMax how many clients may be connected at once. */
export function createConnectionShare(connectionsMax: number): ConnectionShare {
  const requestsMax = Math.max(1, Math.floor(connectionsMax * organizationShare))
  const owners = new WeakMap<IncomingMessage, string>()
  const ofOrganization = new Map<string, number>()

  return {
    take(request, organizationId) {
      if (owners.has(request)) return undefined
      const count = ofOrganization.get(organizationId) ?? 0
      if (count >= requestsMax) return tooManyRequestsOfOrganization(requestsMax)
      owners.set(request, organizationId)
      ofOrganization.set(organizationId, count + 1)
      return undefined
    },
    release(request) {
      const organizationId = owners.get(request)
      if (organizationId === undefined) return
      owners.delete(request)
      const count = (ofOrganization.get(organizationId) ?? 0) - 1
      if (count > 0) ofOrganization.set(organizationId, count)
      else ofOrganization.delete(organizationId)
    },
  }
}
