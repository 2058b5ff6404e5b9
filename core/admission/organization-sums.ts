import { setTimeout as pause } from 'node:timers/promises'
import { type NanoRub, nanoRub } from '../ledger/money.ts'
import { type RedisServers, RedisUnavailable } from '../redis/redis-connection.ts'
import { epochName, organizationSumsName, shardOf } from '../redis/shard.ts'

/** The money of an organization as the next request will find it. */
export type OrganizationSums = {
  /** Balance in the ledger, as last copied to Redis. */
  readonly posted: NanoRub
  /** Charges that are not in `posted` yet. */
  readonly pending: NanoRub
  /** The most that running requests may still cost. */
  readonly held: NanoRub
  /** Of the account in Postgres that `posted` is from: it grows with each row of its ledger. */
  readonly version: bigint
}

/** For a commit to reach Redis. */
const waitMsMax = 2_000
const lookEveryMs = 20

/**
 * The sums of one organization, of one moment. `undefined` while they are unknown: Redis is unavailable, it
 * has lost its data, or the organization has not been copied to it yet.
 *
 * Plain reads: any process with read-only access to Redis may run them.
 */
export async function readOrganizationSums(
  redis: RedisServers,
  organizationId: string,
): Promise<OrganizationSums | undefined> {
  const connection = redis.connectionOf(shardOf(organizationId))
  const runId = connection.runId()
  try {
    const [epoch, sums] = await Promise.all([
      connection.ask((commands) => commands.hmget(epochName(shardOf(organizationId)), 'run_id', 'opens_at')),
      connection.ask((commands) =>
        commands.hmget(organizationSumsName(organizationId), 'posted', 'pending', 'held', 'version'),
      ),
    ])
    const [openedOn, opensAt] = epoch
    const isOpen = openedOn === runId && Number(opensAt) <= Date.now()
    return isOpen ? sumsOf(sums) : undefined
  } catch (error) {
    if (error instanceof RedisUnavailable) return undefined
    throw error
  }
}

/**
 * Whether the data plane has the balance of an account's version. After `true`, every new request is admitted
 * by that balance. `false` after 2 s, or at once while the answer is unknown.
 */
export async function waitForBalance(
  redis: RedisServers,
  organizationId: string,
  version: bigint,
): Promise<boolean> {
  const giveUpAtMs = performance.now() + waitMsMax
  for (;;) {
    const sums = await readOrganizationSums(redis, organizationId)
    if (sums === undefined || sums.version >= version) return sums !== undefined
    if (performance.now() > giveUpAtMs) return false
    await pause(lookEveryMs)
  }
}

function sumsOf([posted, pending, held, version]: readonly (string | null)[]): OrganizationSums | undefined {
  if (posted === null || posted === undefined) return undefined
  return {
    posted: amountOf(posted),
    pending: amountOf(pending),
    held: amountOf(held),
    version: BigInt(version ?? '0'),
  }
}

function amountOf(text: string | null | undefined): NanoRub {
  return nanoRub(BigInt(text ?? '0'))
}
