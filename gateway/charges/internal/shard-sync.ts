import type { Admission, Charge } from '#cabinet/admission/admission'
import type { Settled, ShardMark } from '#cabinet/admission/admission-reply'
import { RedisUnavailable } from '#cabinet/redis/redis-connection'
import type { Shard } from '#cabinet/redis/shard'
import type { OpenRequests } from '../open-requests.ts'
import type { KeptCharges } from './kept-charges.ts'

/** Charges sent at once when a shard is told everything: keeps each within the time-out of a command. */
const tellAtOnce = 64

/**
 * Keeps what the shards know equal to what this replica knows.
 *
 * Redis may come back without what it had acknowledged. So every acknowledgement counts only within one generation (an
 * epoch as seen through one connection); in another one the shard is told everything again.
 */
export type ShardSync = {
  /** Sends one kept charge and heeds the answer. @throws RedisUnavailable; the charge stays kept. */
  send(charge: Charge): Promise<Settled>
  /** Renews the leases of a shard's open holds and sends every kept charge that its generation does not know. */
  tell(shard: Shard): Promise<void>
  /** Kept charges that Redis is not known to have: they are nowhere else. */
  unacknowledgedCount(): number
}

export function createShardSync(deps: {
  readonly admission: Admission
  readonly kept: KeptCharges
  readonly open: OpenRequests
  /** Number of the present connection to Redis. */
  readonly connectionNumber: () => number
  readonly onUnavailable: (error: unknown) => void
  /** Told of each shard that came back with another generation, and of the kept charges that it was sent again. */
  readonly onNewGeneration: (resentCount: number) => void
}): ShardSync {
  const { admission, kept, open } = deps
  /** The generation in which each shard has been told everything. */
  const told = new Map<Shard, string>()
  const telling = new Map<Shard, Promise<void>>()

  async function deliver(charge: Charge): Promise<{ settled: Settled; generation: string | undefined }> {
    const sentOn = deps.connectionNumber()
    // Of an admission whose answer never came only the name is known: it may not have happened.
    const isUnseen = charge.hold.organizationId === ''
    // Settle, even at cost 0: after a loss of data void knows no hold, and the record would be lost.
    const settled = await (isUnseen
      ? admission.void(charge)
      : admission.settle(charge, kept.bookableUntilMs(charge)))
    const generation = generationOf(sentOn, settled.mark)
    if (settled.chargeId === 'late') return { settled, generation }
    kept.noteBooked(charge)
    if (settled.chargeId === null) kept.drop(charge)
    else if (generation !== undefined) kept.acknowledge(charge, settled.chargeId, generation)
    return { settled, generation }
  }

  /** One charge that cannot be sent for what it says must not keep the others from being freed. */
  async function deliverIfPossible(charge: Charge): Promise<void> {
    try {
      await deliver(charge)
    } catch (error) {
      if (error instanceof RedisUnavailable) throw error
      deps.onUnavailable(error)
    }
  }

  async function tellOnce(shard: Shard): Promise<void> {
    const sentOn = deps.connectionNumber()
    const { mark } = await admission.renew(shard, open.running(shard))
    const generation = generationOf(sentOn, mark)
    const missing = kept.unacknowledged(shard, generation)
    for (let at = 0; at < missing.length; at += tellAtOnce)
      await Promise.all(missing.slice(at, at + tellAtOnce).map(deliverIfPossible))
    if (generation === undefined) return
    if (told.has(shard) && told.get(shard) !== generation) deps.onNewGeneration(missing.length)
    told.set(shard, generation)
    kept.freePosted(shard, generation, mark.postedThrough)
  }

  function tell(shard: Shard): Promise<void> {
    const running = telling.get(shard)
    if (running !== undefined) return running
    const round = tellOnce(shard).finally(() => telling.delete(shard))
    telling.set(shard, round)
    return round
  }

  return {
    tell,
    unacknowledgedCount() {
      const missing = kept.shards().flatMap((shard) => kept.unacknowledged(shard, told.get(shard)))
      return missing.length
    },
    async send(charge) {
      const { settled, generation } = await deliver(charge)
      const { shard } = charge.hold
      if (generation !== undefined && told.get(shard) === generation)
        kept.freePosted(shard, generation, settled.mark.postedThrough)
      else tell(shard).catch(deps.onUnavailable)
      return settled
    },
  }
}

/** Undefined without an epoch: then nothing tells two losses of data apart, so nothing counts as acknowledged. */
function generationOf(connectionNumber: number, { nonce }: ShardMark): string | undefined {
  return nonce === '' ? undefined : `${connectionNumber} ${nonce}`
}
