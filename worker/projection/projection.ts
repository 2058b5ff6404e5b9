import { randomUUID } from 'node:crypto'
import type { CountedNames, WrongSum } from '#core/admission/counted-names'
import { allShards, type Shard } from '#core/redis/shard'
import { type ChangedRow, readChanges, readState } from './changes.ts'
import { noteProjected } from './internal/projected-versions.ts'
import { copyRefused, type LostRowsDeps, type RefusedOfShard } from './lost-rows.ts'
import type { ShardLocks } from './shard-locks.ts'

export type ProjectionDeps = LostRowsDeps & {
  readonly loadAlone: ShardLocks['loadAlone']
  /** Time from loading a shard to opening it: one renewal by every gateway, plus a second. */
  readonly epochOpensInMs: number
  /** Time between full comparisons. */
  readonly compareEveryMs: number
  /** `performance.now`. */
  readonly now: () => number
  /** Called with the totals of pending charges and holds that were wrong and have been corrected. */
  readonly onWrongSums: (shard: Shard, sums: readonly WrongSum[]) => void
}

/**
 * Copies the data that admission needs from Postgres to Redis: keys, secrets, balances and daily key spend. Records in
 * Postgres which versions of keys and secrets Redis has; for a key, once its shard serves.
 *
 * Every row has its version, and Redis keeps the newest. So any number of workers may project at once, rows may be
 * repeated in any order, and a run may be killed anywhere. Workers with different default limits overwrite each
 * other's limits: this should only happen during a rollout.
 */
export type Projection = { run(): Promise<'more' | 'idle'> }

/** Shards read as a whole at once. Converting the rows of 600,000 keys blocks the worker for 3 s. */
const shardsPerPart = 8

export function createProjection(deps: ProjectionDeps): Projection {
  // Due immediately, because this worker's default limits may be new.
  const parts = inParts(allShards).map((shards) => ({ shards, comparedAtMs: Number.NEGATIVE_INFINITY }))
  const isDue = (part: { readonly comparedAtMs: number }) =>
    deps.now() - part.comparedAtMs >= deps.compareEveryMs
  return {
    async run() {
      const { unopened, serving, available } = await readShardStates(deps)
      if (unopened.length > 0) await openNewEpochs(deps)
      const goneBack = await copyChanges(deps, serving)
      for (const part of parts)
        if (part.shards.some((shard) => goneBack.has(shard))) part.comparedAtMs = Number.NEGATIVE_INFINITY
      const due = unopened.length === 0 ? parts.find(isDue) : undefined
      if (due === undefined) return 'idle'
      const shards = due.shards.filter((shard) => available.includes(shard))
      await compare(deps, shards, serving)
      due.comparedAtMs = deps.now()
      return parts.some(isDue) ? 'more' : 'idle' // copy new changes before the next part
    },
  }
}

/** Loads and opens all closed shards that were not only moved, unless another worker is loading: two loads would undo each other. */
async function openNewEpochs(deps: ProjectionDeps): Promise<void> {
  await deps.loadAlone(async () => {
    const { unopened } = await readShardStates(deps) // another worker may have opened them
    const lost = await keepMoved(deps, unopened)
    if (lost.length > 0) await load(deps, lost)
  })
}

/** Lets shards go on that were only moved to another server, and returns the others. */
async function keepMoved({ posting }: ProjectionDeps, shards: readonly Shard[]): Promise<readonly Shard[]> {
  const ends = await Promise.all(shards.map((shard) => posting.handOver(shard)))
  return shards.filter((_, at) => ends[at] !== 'handed_over')
}

type ShardStates = {
  /** Their epoch is missing, belongs to another Redis run, or is ahead of Redis's clock, which was set back. */
  readonly unopened: readonly Shard[]
  /** Gateways accept their keys. Other shards were loaded and open soon. */
  readonly serving: ReadonlySet<Shard>
  /** Their server answers. The others wait until it does again. */
  readonly available: readonly Shard[]
}

async function readShardStates({ posting, epochOpensInMs }: ProjectionDeps): Promise<ShardStates> {
  const epochs = await posting.readEpochs()
  const available = allShards.filter((shard) => epochs[shard] !== undefined)
  const opensInMs = (shard: Shard) => {
    const epoch = epochs[shard]
    return epoch?.isOfThisRun ? epoch.opensInMs : Number.POSITIVE_INFINITY
  }
  return {
    unopened: available.filter((shard) => opensInMs(shard) > epochOpensInMs),
    serving: new Set(available.filter((shard) => opensInMs(shard) <= 0)),
    available,
  }
}

/** For newly opened shards, which serve a little later. */
const noneServes: ReadonlySet<Shard> = new Set()

async function load(deps: ProjectionDeps, unopened: readonly Shard[]): Promise<void> {
  const copied: (readonly ChangedRow[])[] = []
  // A killed Redis may have kept only half of a script's writes.
  const names = await deps.posting.findNames(unopened)
  for (const shards of inParts(unopened)) copied.push(await loadPart(deps, shards, names))
  // Last, because a temporarily read-only Postgres must not keep the shards closed.
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
 * Returns the shards whose cursor, read before Postgres, is ahead of Postgres. Postgres has lost its last transactions
 * and numbers new ones below the cursor. A comparison finds these and moves the cursor back.
 */
async function copyChanges(deps: ProjectionDeps, serving: ReadonlySet<Shard>): Promise<ReadonlySet<Shard>> {
  const cursors = (await deps.posting.readCursors()).map((cursor) =>
    cursor === null ? null : BigInt(cursor),
  )
  const [sinceXid] = cursors.filter((cursor) => cursor !== null).toSorted((a, b) => (a < b ? -1 : 1))
  if (sinceXid === undefined) return new Set() // nothing loaded yet
  const { rows, nextXid } = await readChanges(deps.pool, sinceXid, deps.defaults)
  // A shard without a cursor is being loaded. The load sets its cursor.
  const loaded = allShards.filter((shard) => cursors[shard] !== null)
  const cursorOf = (shard: Shard) => ((cursors[shard] ?? nextXid) < nextXid ? nextXid : null)
  await noteProjected(deps.pool, await copy(deps, loaded, rows, cursorOf), serving)
  return new Set(loaded.filter((shard) => (cursors[shard] ?? 0n) > nextXid))
}

/** Repairs errors of hints, cursors or manual changes in Redis, and gives keys the current default limits. */
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

/** Keys whose totals one script recounts, and entries that it may read: some milliseconds in Redis. */
const keysPerRecount = 500
const entriesPerRecountMax = 1_000

function* namesIn(shard: Shard, rows: readonly ChangedRow[]): Generator<CountedNames> {
  const own = rows.flatMap((changed) => (changed.shard === shard ? changed.row : []))
  const organizationIds = own.flatMap((row) => (row.kind === 'organization' ? row.organizationId : []))
  const keyIds = own.flatMap((row) => (row.kind === 'key' && row.state !== 'revoked' ? row.keyId : []))
  const memberIds = own.flatMap((row) => (row.kind === 'window' && row.scope === 'member' ? row.ownerId : []))
  for (let at = 0; at === 0 || at < keyIds.length; at += keysPerRecount)
    yield {
      requestIds: [],
      organizationIds: at === 0 ? organizationIds : [],
      keyIds: keyIds.slice(at, at + keysPerRecount),
      memberIds: at === 0 ? [...new Set(memberIds)] : [],
      days: 'recent',
      entriesMax: entriesPerRecountMax,
    }
}

/**
 * Copies rows into their shards and returns those that Redis has then. `lost-rows.ts` handles rejected rows. A long
 * transaction holds `cursorOf` back, and repeated rows are simply copied again.
 *
 * @param cursorOf returns a shard's new cursor; `null`: unchanged.
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
