import type { Refusal } from '#core/errors/refusal'
import { tooManyBodies, tooManyBodiesOfOrganization } from '../wire/errors.ts'

/**
 * The share of one organization: it takes several organizations with their full shares to fill the memory for
 * bodies.
 */
const organizationShare = 1 / 8

/** Bytes of bodies in memory, of all requests and of each organization. */
export type HeldBodies = {
  /** @param organizationId as soon as it is known: above 16 KiB. */
  add(bytes: number, organizationId: string | undefined): void
  remove(bytes: number, organizationId: string | undefined): void
  /** The error about the memory in use, if any. */
  findExcess(organizationId: string | undefined): Refusal | undefined
  bytes(): number
}

/** An organization may always hold one body, however long bodies may be. */
export function createHeldBodies(heldBytesMax: number, bodyBytesMax: number): HeldBodies {
  const ofOrganizationMax = Math.max(heldBytesMax * organizationShare, bodyBytesMax)
  const ofOrganization = new Map<string, number>()
  let heldBytes = 0

  function add(bytes: number, organizationId: string | undefined): void {
    heldBytes += bytes
    if (organizationId === undefined) return
    const held = (ofOrganization.get(organizationId) ?? 0) + bytes
    if (held > 0) ofOrganization.set(organizationId, held)
    else ofOrganization.delete(organizationId)
  }

  return {
    add,
    remove: (bytes, organizationId) => add(-bytes, organizationId),
    findExcess(organizationId) {
      if (heldBytes > heldBytesMax) return tooManyBodies
      const held = organizationId === undefined ? 0 : (ofOrganization.get(organizationId) ?? 0)
      return held > ofOrganizationMax ? tooManyBodiesOfOrganization : undefined
    },
    bytes: () => heldBytes,
  }
}
