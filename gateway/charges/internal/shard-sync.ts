import type { Admission, Charge } from '#core/admission/admission'
import type { Settled, ShardMark } from '#core/admission/admission-reply'
import { RedisUnavailable } from '#core/redis/redis-connection'
import type { Shard } from '#core/redis/shard'
import type { OpenRequests } from '../open-requests.ts'
import type { KeptCharges } from './kept-charges.ts'

/** Charges sent at once in a resync: keeps each call within the time-out of a command. */
const tellAtOnce = 64

/**
 * Keeps the state of the shards equal to that of this replica.
 *
 * Redis may restart without data that it had acknowledged. So every acknowledgement counts only within one
 * generation (an epoch as seen through one connection). In another generation the shard is sent everything
 * again.
 */
export type ShardSync = {
  /** Sends one buffered charge and handles the reply. @throws RedisUnavailable; the charge stays buffered. */
  send(charge: Charge): Promise<Settled>
  /**
   * Renews the leases of a shard's open holds and sends every buffered charge that its generation does not
   * have.
   */
  tell(shard: Shard): Promise<void>
  /** Buffered charges that Redis is not known to have: no other copy exists. */
  unacknowledgedCount(): number
}

export function createShardSync(deps: {
  readonly admission: Admission
  readonly kept: KeptCharges
  readonly open: OpenRequests
  /** Number of the present connection to the server of a shard. */
  readonly connectionNumber: (shard: Shard) => number
  readonly onUnavailable: (error: unknown) => void
  /**
   * Called for each shard that returned with another generation, with the number of buffered charges that
   * were resent.
   */
  readonly onNewGeneration: (resentCount: number) => void
}): ShardSync {
  const { admission, kept, open } = deps
  /** The generation in which each shard was last synchronized. */
  const told = new Map<Shard, string>()
  const telling = new Map<Shard, Promise<void>>()

  async function deliver(charge: Charge): Promise<{ settled: Settled; generation: string | undefined }> {
    const sentOn = deps.connectionNumber(charge.hold.shard)
    // Without a reply to the admission only the hold's name is known: it may not have happened.
    const isUnseen = charge.hold.organizationId === ''
    // Settle, even at cost 0: after a loss of data a void finds no hold, and the record would be lost.
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

  /** One charge whose content Redis rejects must not keep the others from being freed. */
  async function deliverIfPossible(charge: Charge): Promise<void> {
    try {
      await deliver(charge)
    } catch (error) {
      if (error instanceof RedisUnavailable) throw error
      deps.onUnavailable(error)
    }
  }

  async function tellOnce(shard: Shard): Promise<void> {
    const sentOn = deps.connectionNumber(shard)
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

/**
 * Undefined without an epoch: two losses of data could then not be distinguished, so nothing counts as
 * acknowledged.
 */
function generationOf(connectionNumber: number, { nonce }: ShardMark): string | undefined {
  return nonce === '' ? undefined : `${connectionNumber} ${nonce}`
}
