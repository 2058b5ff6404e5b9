import { z } from 'zod'
import type { AppliedObject, ClusterClient } from '../cluster-client.ts'
import { type ClusterObject, microTimeText, type ObjectName, type OwnerReference } from '../cluster-object.ts'
import { leases } from '../resources.ts'

const leaseSpecSchema = z.looseObject({
  holderIdentity: z.string().nullish(),
  leaseDurationSeconds: z.number().nullish(),
  leaseTransitions: z.number().nullish(),
})

export type LeaseClaim = {
  readonly lease: ObjectName
  /** Whose the Lease is if we create it: it goes with them, or it would be left when the operator is removed. */
  readonly owner?: OwnerReference | undefined
  /** Identity of this process, unique forever: the name of the pod with a random suffix. */
  readonly identity: string
}

/** Reads and writes one Lease for one holder, and remembers since when it has not changed. */
export type LeaseHolder = {
  /** Takes or renews the Lease: whether this holder has it now. `undefined`: another process was faster; try again. */
  take(): Promise<boolean | undefined>
  /** How long the Lease that was read lasts unless it is renewed, in ms, by our own clock; 0 or less: it is over. */
  untilOverMs(): number
  /** Frees the Lease at once, if this holder still has it. */
  giveBack(): Promise<void>
}

type LeaseClient = Pick<ClusterClient, 'find' | 'create' | 'replace'>

/** @param lengthMs how long others wait for a holder that has stopped renewing. */
export function createLeaseHolder(
  client: LeaseClient,
  { lease, owner, identity }: LeaseClaim,
  lengthMs: number,
): LeaseHolder {
  /** The last version that was read, since when, and how long it lasts from then on. */
  let seen = { version: '', atMs: 0, lengthMs: 0 }
  /** The Lease as this process wrote it last: renewed without reading it again. */
  let held: ClusterObject | undefined

  function claim() {
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(lengthMs / 1000),
      renewTime: microTimeText(Date.now()),
    }
  }

  function newLease(): AppliedObject {
    const spec = { ...claim(), acquireTime: microTimeText(Date.now()), leaseTransitions: 0 }
    return { metadata: { ...lease, ...(owner === undefined ? {} : { ownerReferences: [owner] }) }, spec }
  }

  function untilOverMs(): number {
    return seen.atMs + seen.lengthMs - performance.now()
  }

  function note({ metadata: { resourceVersion = '' } }: ClusterObject, lengthS: number): void {
    if (resourceVersion !== seen.version)
      seen = { version: resourceVersion, atMs: performance.now(), lengthMs: lengthS * 1000 }
  }

  async function take(): Promise<boolean | undefined> {
    const renewed = held
    held = undefined // what becomes of a failed write is found out by reading
    return (renewed !== undefined && (await write(renewed, renewed.spec))) || takeRead()
  }

  async function takeRead(): Promise<boolean | undefined> {
    const found = await client.find(leases, lease)
    if (found === undefined) return keep(await client.create(leases, newLease()))
    const spec = leaseSpecSchema.parse(found.spec ?? {})
    const isOurs = spec.holderIdentity === identity
    const isUnheld = (spec.holderIdentity ?? '') === ''
    note(found, spec.leaseDurationSeconds ?? 0)
    if (!isOurs && !isUnheld && untilOverMs() > 0) return false
    const transition = {
      acquireTime: microTimeText(Date.now()),
      leaseTransitions: (spec.leaseTransitions ?? 0) + 1,
    }
    return write(found, { ...spec, ...(isOurs ? {} : transition) })
  }

  /** Claims the version that was read. */
  async function write(read: ClusterObject, spec: unknown): Promise<true | undefined> {
    return keep(await client.replace(leases, { ...read, spec: { ...Object(spec), ...claim() } }))
  }

  function keep(written: ClusterObject | string): true | undefined {
    if (typeof written === 'string') return undefined
    held = written
    return true
  }

  return {
    take,
    untilOverMs,
    async giveBack(): Promise<void> {
      const found = await client.find(leases, lease)
      const spec = leaseSpecSchema.parse(found?.spec ?? {})
      if (found === undefined || spec.holderIdentity !== identity) return
      const free = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTimeText(Date.now()) }
      await client.replace(leases, { ...found, spec: { ...spec, ...free } })
    },
  }
}
