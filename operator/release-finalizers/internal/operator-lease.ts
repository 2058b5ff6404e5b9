import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ClusterClient } from '../../runtime/cluster-client.ts'
import { microTimeText, type ObjectName } from '../../runtime/cluster-object.ts'
import { leases } from '../../runtime/resources.ts'

type LeaseClient = Pick<ClusterClient, 'find' | 'replace'>

const specSchema = z.looseObject({
  holderIdentity: z.string().nullish(),
  leaseDurationSeconds: z.number().nullish(),
  leaseTransitions: z.number().nullish(),
})

const pollMs = 500
/** Longest time until a leader notices, by the settings of a release before this one. */
const noticeMsMax = 15_000
/** For how long no operator starts after its Lease was taken over: time to remove it. */
const takenS = 600
const triesMax = 5

/**
 * The operator that leads, if there is one: the holder of the Lease that renews it during the check. A Lease
 * that was not renewed for its duration is of an operator that was killed.
 */
export async function findLeader(client: LeaseClient, lease: ObjectName): Promise<string | undefined> {
  const first = await client.find(leases, lease)
  const { holderIdentity, leaseDurationSeconds } = specSchema.parse(first?.spec ?? {})
  if (first === undefined || !holderIdentity) return undefined
  const untilMs = performance.now() + (leaseDurationSeconds ?? 0) * 1000
  while (performance.now() < untilMs) {
    await sleep(pollMs)
    const now = await client.find(leases, lease)
    const { holderIdentity: holder } = specSchema.parse(now?.spec ?? {})
    if (!holder) return undefined
    if (now?.metadata.resourceVersion !== first.metadata.resourceVersion) return holder
  }
  return undefined
}

/**
 * Takes the Lease from its holder, so that the leader ends and none starts for 10 min. Resolves when the
 * leader has noticed: one that cannot renew goes on for less than the length of the Lease.
 */
export async function takeOver(client: LeaseClient, lease: ObjectName): Promise<undefined> {
  for (let tries = 1; ; tries++) {
    const found = await client.find(leases, lease)
    if (found === undefined) return undefined // no operator has ever led
    const spec = specSchema.parse(found.spec ?? {})
    const now = microTimeText(Date.now())
    const ours = {
      holderIdentity: `release-finalizers_${randomBytes(4).toString('hex')}`,
      leaseDurationSeconds: takenS,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: (spec.leaseTransitions ?? 0) + 1,
    }
    const written = await client.replace(leases, { ...found, spec: { ...spec, ...ours } })
    if (written === 'gone') return undefined
    if (written !== 'conflict') {
      await sleep(noticeMsOf(spec))
      return undefined
    }
    if (tries === triesMax) throw new Error(`Lease ${lease.namespace}/${lease.name} keeps changing`)
  }
}

function noticeMsOf({ holderIdentity, leaseDurationSeconds }: z.infer<typeof specSchema>): number {
  return holderIdentity ? Math.min((leaseDurationSeconds ?? 0) * 1000, noticeMsMax) : 0
}
