import { randomBytes, randomUUID } from 'node:crypto'
import { type Admission, type Candidate, createAdmission } from '#core/admission/admission'
import type { AdmitAnswer, Hold } from '#core/admission/admission-reply'
import { createPosting } from '#core/admission/posting'
import type { ProjectedRow } from '#core/admission/projected-rows'
import type { KeyHash } from '#core/keys/key'
import type { ChargeKind } from '#core/ledger/charge-kind'
import { type RequestRecord, requestRecordSchema } from '#core/ledger/request-record'
import { openRedis } from '#core/redis/open-redis'
import type { RedisConnection, RedisServers } from '#core/redis/redis-connection'
import { allShards, type Shard, shardOf, shardPrefix } from '#core/redis/shard'
import type { RedisServer } from '#standalone/redis'

type KeyRow = Extract<ProjectedRow, { kind: 'key' }>
type SecretRow = Extract<ProjectedRow, { kind: 'secret' }>
type ZoneRow = Extract<ProjectedRow, { kind: 'zone' }>

/** A record of a request to which nothing happened yet. */
export const emptyRecord: RequestRecord = requestRecordSchema.parse({
  endpoint: 'chat',
  modelAsked: 'demo/echo',
  outcome: 'swept',
  status: 499,
})

/** A model that costs exactly `holdNano`, whatever it answers. */
export function fixedCandidate({
  model = 'demo/echo',
  holdNano = 1_000n,
  tokens = 10,
}: {
  readonly model?: string
  readonly holdNano?: bigint
  readonly tokens?: number
} = {}): Candidate {
  return { model, tokens, promptNano: holdNano, outputTokenNano: 0n, output: { limit: 0 } }
}

/** The settings of a key that a test may change; by default it may do everything and has 1 ₽. */
export type KeySettings = {
  readonly balanceNano?: bigint
  readonly key?: Partial<KeyRow>
  /** Of the organization, as `window.lua` reads it; left out: Moscow's. */
  readonly zone?: string
  /** Of the organization. */
  readonly budgets?: ZoneRow['budgets']
  readonly secret?: Partial<SecretRow>
}

/**
 * An organization with one key in an open shard of `redis`, and the calls of gateway and worker on it.
 *
 * No other test uses the shard. `clock.offsetMs` moves the time of every script of this fixture.
 */
export async function openShard(
  redis: RedisServer,
  settings: KeySettings & {
    readonly leaseMs?: number
    readonly unpostedAgeMsMax?: number
    readonly sweepGapMsMax?: number
    readonly mayList?: () => boolean
  } = {},
) {
  const clock = { offsetMs: 0 }
  const options = { clockOffsetMs: () => clock.offsetMs, ...settings }
  const servers = await openServers(redis)
  const admission = createAdmission(servers, options)
  const posting = createPosting(servers, options)
  const keyId = randomUUID()
  const secretHash = randomBytes(32).toString('base64url') as KeyHash
  const shard = nextShard()
  const connection = servers.connectionOf(shard)
  await emptyShard(connection, shard)
  const organizationId = organizationOf(shard)
  let version = 0n

  /** Projects the key as it is by default, with these changes, as a newer version. */
  const set = async ({ balanceNano, key, zone, budgets, secret: changed }: KeySettings) => {
    version += 1n
    const rows: ProjectedRow[] = [
      { ...plainSecret(secretHash, keyId, organizationId), version, ...changed },
      { ...plainKey(keyId), version, ...key },
      { kind: 'organization', organizationId, version, postedNano: balanceNano ?? 1_000_000_000n },
      ...zoneRows(organizationId, version, zone, budgets),
    ]
    await posting.project(shard, rows, null)
  }
  /** Loads and opens the shard as a worker does; `opensInMs` counts from now. */
  const open = async (opensInMs = 0) => {
    const nonce = randomUUID()
    await posting.beginEpoch(shard, nonce)
    await set(settings)
    return await posting.openEpoch(shard, nonce, opensInMs)
  }
  const admit = (request: AskedRequest = {}) =>
    admission.admit({
      requestId: request.requestId ?? randomUUID(),
      shard,
      secretHash,
      candidates: request.candidates ?? [fixedCandidate()],
      record: emptyRecord,
      timeoutMs: request.timeoutMs ?? 600_000,
    })
  await open()
  return {
    clock,
    servers,
    connection,
    admission,
    posting,
    organizationId,
    keyId,
    secretHash,
    shard,
    set,
    open,
    admit,
    /** Admits a request that must be admitted. */
    hold: async (holdNano = 1_000n, tokens = 10) =>
      holdOf(await admit({ candidates: [fixedCandidate({ holdNano, tokens })] })),
    settle: (hold: Hold, costNano: bigint, chargeKind: ChargeKind = 'settled') =>
      admission.settle({ hold, chargeKind, costNano, tokens: hold.tokens, record: emptyRecord }),
    charges: () => posting.readCharges(shard, 1_000),
    /** What the key has used, as the gateway sees it. */
    state: () => inspectKey(admission, shard, secretHash),
    /** Name of a key of this shard in Redis. */
    nameOf: (rest: string) => `${shardPrefix(shard)}${rest}`,
    close: servers.close,
  }
}

type AskedRequest = {
  readonly requestId?: string
  readonly candidates?: readonly Candidate[]
  readonly timeoutMs?: number
}

const moscowMs = 10_800_000

function zoneRows(
  organizationId: string,
  version: bigint,
  zone: string | undefined,
  budgets: ZoneRow['budgets'] | undefined,
): ZoneRow[] {
  if (zone === undefined && budgets === undefined) return []
  return [{ kind: 'zone', organizationId, version, zone: zone ?? String(moscowMs), budgets: budgets ?? [] }]
}

async function openServers({ url }: RedisServer): Promise<RedisServers> {
  const [firstUrl = '', ...otherUrls] = url.split(',')
  const servers = openRedis([firstUrl, ...otherUrls], { name: 'test', timeoutMs: 2_000 })
  await servers.connected(5_000)
  return servers
}

async function inspectKey(admission: Admission, shard: Shard, secretHash: KeyHash) {
  const inspection = await admission.inspect(shard, secretHash)
  if (inspection.outcome !== 'usable') throw new Error(`refused: ${inspection.reason}`)
  return inspection.key
}

/** The id of an organization that belongs to this shard. */
function organizationOf(shard: Shard): string {
  for (;;) {
    const id = randomUUID()
    if (shardOf(id) === shard) return id
  }
}

let shardsTaken = 0

/** One after the other, so that tests of one file do not meet. */
function nextShard(): Shard {
  const shard = allShards[shardsTaken++ % allShards.length]
  if (shard === undefined) throw new Error('there are no shards')
  return shard
}

async function emptyShard({ redis }: RedisConnection, shard: Shard): Promise<void> {
  const names = await redis.keys(`${shardPrefix(shard)}*`)
  if (names.length > 0) await redis.del(...names)
}

export type OpenShard = Awaited<ReturnType<typeof openShard>>

/** The hold of an answer that must be an admission. */
export function holdOf(answer: AdmitAnswer): Hold {
  if (answer.outcome !== 'admitted') throw new Error(`not admitted: ${answer.reason}`)
  return answer.hold
}

/** A secret that is valid. */
export function plainSecret(hash: KeyHash, keyId: string, organizationId: string): SecretRow {
  return { kind: 'secret', hash, version: 0n, keyId, organizationId, validUntilMs: null, state: 'active' }
}

/** A key without its own limits. */
export function plainKey(keyId: string): KeyRow {
  return {
    kind: 'key',
    keyId,
    version: 0n,
    state: 'active',
    blockedBy: null,
    expiresAtMs: null,
    rpm: 600,
    tpm: 2_000_000,
    dailyBudgetNano: null,
    budgets: [],
    allowedModels: null,
    allowedIps: null,
    readBalance: false,
    keepsResponsesHours: null,
  }
}
