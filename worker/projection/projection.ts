import { randomUUID } from 'node:crypto'
import { allShards, type Shard } from '../../redis/shard.ts'
import type { ShardLocks } from '../shard-locks.ts'
import { type ChangedRow, readChanges, readState } from './changes.ts'
import type { CountedNames, WrongSum } from './counted-names.ts'
import { copyRefused, type LostRowsDeps, type RefusedOfShard } from './lost-rows.ts'
import { noteProjected } from './projected-versions.ts'

export type ProjectionDeps = LostRowsDeps & {
  /** Run id of the Redis that `posting` talks to; `undefined` while that is not known. */
  readonly redisRunId: () => string | undefined
  readonly loadAlone: ShardLocks['loadAlone']
  /** Time from loading a shard to opening it: one renewal by every gateway, plus a second. */
  readonly epochOpensInMs: number
  /** Time between comparisons of everything, whatever changed. */
  readonly compareEveryMs: number
  /** `performance.now`. */
  readonly now: () => number
  /** Told of the sums of what is pending and held that were not what they stand for, and are now. */
  readonly onWrongSums: (shard: Shard, sums: readonly WrongSum[]) => void
}

/**
 * Copies what admission needs from Postgres into Redis: keys, secrets, balances, key-days. Notes in Postgres
 * which versions of keys and secrets are there, of a key once its shard serves.
 *
 * Every row carries its version and Redis keeps the newest, so any number of workers may project at once, rows may
 * come twice and in any order, and a run may be killed anywhere. Workers whose default limits differ overwrite each
 * other's: they should only do so while they are being replaced.
 */
export type Projection = { run(): Promise<'more' | 'idle'> }

/** Shards read whole at once: making rows of 600,000 keys blocks the worker for 3 s. */
const shardsPerPart = 8

export function createProjection(deps: ProjectionDeps): Projection {
  // Due at once: this worker's default limits may be new.
  const parts = inParts(allShards).map((shards) => ({ shards, comparedAtMs: Number.NEGATIVE_INFINITY }))
  const isDue = (part: { readonly comparedAtMs: number }) =>
    deps.now() - part.comparedAtMs >= deps.compareEveryMs
  return {
    async run() {
      const { unopened, serving } = await readShardStates(deps)
      if (unopened.length > 0) await openNewEpochs(deps)
      const goneBack = await copyChanges(deps, serving)
      for (const part of parts)
        if (part.shards.some((shard) => goneBack.has(shard))) part.comparedAtMs = Number.NEGATIVE_INFINITY
      const due = unopened.length === 0 ? parts.find(isDue) : undefined
      if (due === undefined) return 'idle'
      await compare(deps, due.shards, serving)
      due.comparedAtMs = deps.now()
      return parts.some(isDue) ? 'more' : 'idle' // changes made meanwhile come before the next part
    },
  }
}

/** Loads and opens every shard that is not open, unless another worker is loading: two would undo each other's work. */
async function openNewEpochs(deps: ProjectionDeps): Promise<void> {
  await deps.loadAlone(async () => {
    const { unopened } = await readShardStates(deps) // another worker may have opened them meanwhile
    if (unopened.length > 0) await load(deps, unopened)
  })
}

type ShardStates = {
  /** Their epoch is missing, belongs to another Redis run, or lies ahead of Redis's clock, which was set back. */
  readonly unopened: readonly Shard[]
  /** Gateways accept their keys. The others were loaded and open soon. */
  readonly serving: ReadonlySet<Shard>
}

async function readShardStates({
  posting,
  redisRunId,
  epochOpensInMs,
}: ProjectionDeps): Promise<ShardStates> {
  const runId = redisRunId()
  const epochs = await posting.readEpochs()
  const opensInMs = (shard: Shard) => {
    const epoch = epochs[shard]
    return runId === undefined || epoch?.runId !== runId ? Number.POSITIVE_INFINITY : epoch.opensInMs
  }
  return {
    unopened: allShards.filter((shard) => opensInMs(shard) > epochOpensInMs),
    serving: new Set(allShards.filter((shard) => opensInMs(shard) <= 0)),
  }
}

/** Of shards that were opened just now: they serve a little later. */
const noneServes: ReadonlySet<Shard> = new Set()

async function load(deps: ProjectionDeps, unopened: readonly Shard[]): Promise<void> {
  const copied: (readonly ChangedRow[])[] = []
  // A Redis that was killed may have kept half of what a script wrote.
  const names = await deps.posting.findNames(unopened)
  for (const shards of inParts(unopened)) copied.push(await loadPart(deps, shards, names))
  // Last: a Postgres that is read-only at the moment must not keep the shards closed.
  for (const rows of copied) await noteProjected(deps.pool, rows, noneServes)
}

/** Loads and opens shards, and returns the rows that Redis has. */
async function loadPart(
  deps: ProjectionDeps,
  shards: readonly Shard[],
  names: ReadonlyMap<Shard, CountedNames>,
): Promise<readonly ChangedRow[]> {
  const { posting } = deps
  const nonce = randomUUID()
  await Promise.all(shards.map((shard) => posting.beginEpoch(shard, nonce)))
  const { rows, nextXid } = await readState(deps.pool, shards, deps.defaults)
  const copied = await copy(deps, shards, rows, () => nextXid)
  for (const shard of shards) await recount(deps, shard, names.get(shard))
  await Promise.all(shards.map((shard) => posting.openEpoch(shard, nonce, deps.epochOpensInMs)))
  return copied
}

function inParts(shards: readonly Shard[]): readonly (readonly Shard[])[] {
  const count = Math.ceil(shards.length / shardsPerPart)
  return Array.from({ length: count }, (_, n) => shards.slice(n * shardsPerPart, (n + 1) * shardsPerPart))
}

/**
 * Returns the shards whose cursor, read before Postgres, lies ahead of Postgres: it has lost its last transactions and
 * numbers new ones below the cursor. A comparison finds these and moves the cursor back.
 */
async function copyChanges(deps: ProjectionDeps, serving: ReadonlySet<Shard>): Promise<ReadonlySet<Shard>> {
  const cursors = (await deps.posting.readCursors()).map((cursor) =>
    cursor === null ? null : BigInt(cursor),
  )
  const [sinceXid] = cursors.filter((cursor) => cursor !== null).toSorted((a, b) => (a < b ? -1 : 1))
  if (sinceXid === undefined) return new Set() // nothing was loaded yet
  const { rows, nextXid } = await readChanges(deps.pool, sinceXid, deps.defaults)
  // A shard without a cursor is being loaded; the load sets one.
  const loaded = allShards.filter((shard) => cursors[shard] !== null)
  const cursorOf = (shard: Shard) => ((cursors[shard] ?? nextXid) < nextXid ? nextXid : null)
  await noteProjected(deps.pool, await copy(deps, loaded, rows, cursorOf), serving)
  return new Set(loaded.filter((shard) => (cursors[shard] ?? 0n) > nextXid))
}

/** Repairs whatever a hint, a cursor or a hand in Redis got wrong, and gives keys the current default limits. */
async function compare(
  deps: ProjectionDeps,
  shards: readonly Shard[],
  serving: ReadonlySet<Shard>,
): Promise<void> {
  const { rows, nextXid } = await readState(deps.pool, shards, deps.defaults)
  await noteProjected(deps.pool, await copy(deps, shards, rows, () => nextXid), serving)
  for (const shard of shards) for (const names of namesIn(shard, rows)) await recount(deps, shard, names)
}

async function recount(deps: ProjectionDeps, shard: Shard, names: CountedNames | undefined): Promise<void> {
  if (names === undefined) return
  const wrong = await deps.posting.recount(shard, names)
  if (wrong !== 'too_many' && wrong.length > 0) deps.onWrongSums(shard, wrong)
}

/** Keys whose sums one script looks at, and entries that it may read: some milliseconds of Redis's time. */
const keysPerRecount = 500
const entriesPerRecountMax = 1_000

function* namesIn(shard: Shard, rows: readonly ChangedRow[]): Generator<CountedNames> {
  const own = rows.flatMap((changed) => (changed.shard === shard ? changed.row : []))
  const organizationIds = own.flatMap((row) => (row.kind === 'organization' ? row.organizationId : []))
  const keyIds = own.flatMap((row) => (row.kind === 'key' && row.state !== 'revoked' ? row.keyId : []))
  for (let at = 0; at === 0 || at < keyIds.length; at += keysPerRecount)
    yield {
      requestIds: [],
      organizationIds: at === 0 ? organizationIds : [],
      keyIds: keyIds.slice(at, at + keysPerRecount),
      days: 'recent',
      entriesMax: entriesPerRecountMax,
    }
}

/**
 * Copies rows into their shards and returns those that Redis has then; refused ones are handled by `lost-rows.ts`. A long
 * transaction holds `cursorOf` back, and the rows that come again are simply copied again.
 *
 * @param cursorOf where a shard's cursor goes; `null`: it stays.
 */
async function copy(
  deps: ProjectionDeps,
  shards: readonly Shard[],
  rows: readonly ChangedRow[],
  cursorOf: (shard: Shard) => bigint | null,
): Promise<readonly ChangedRow[]> {
  const byShard = Map.groupBy(rows, ({ shard }) => shard)
  const refused: RefusedOfShard[] = []
  const copied = await Promise.all(
    shards.map(async (shard) => {
      const own = byShard.get(shard) ?? []
      const cursor = cursorOf(shard)
      if (own.length === 0 && cursor === null) return []
      const fields = own.map(({ row }) => row)
      const answer = await deps.posting.project(shard, fields, cursor === null ? null : String(cursor))
      refused.push(...answer.refused.map((row) => ({ ...row, shard })))
      const kept = new Set(answer.refused.map(({ row }) => row))
      return own.filter(({ row }) => !kept.has(row))
    }),
  )
  return [...copied.flat(), ...(await copyRefused(deps, refused))]
}
