import { setTimeout as pause } from 'node:timers/promises'
import { ReplyError } from 'ioredis'
import type { Primary } from './primaries.ts'
import { Rejected } from './rejected.ts'

/** First and last slot. */
export type SlotRange = readonly [number, number]

const lookEveryMs = 20
/** A large shard on a slow network; after that its operator must look. */
const migrationMsMax = 600_000

/** A migration as its server lists it: field names and values. */
type Listed = Readonly<Record<string, string>>

/**
 * Moves slots with all data by atomic migration, and resolves when the other primary has them.
 *
 * @throws Rejected if the servers do not have it, do not accept the move or do not finish it: then nothing has moved.
 */
export async function migrateSlots(from: Primary, to: Primary, ranges: readonly SlotRange[]): Promise<void> {
  for (const { node, version } of [from, to])
    if (!version.movesAtomically)
      throw new Rejected(
        `${node.server} runs ${version.name}, which has no atomic slot migration: moving a shard needs Valkey 9.0 or Redis 8.4, or newer.`,
      )
  try {
    await (from.version.engine === 'valkey' ? migrateByValkey : migrateByRedis)(from, to, ranges)
  } catch (error) {
    if (error instanceof Error && error instanceof ReplyError)
      throw new Rejected(`${from.node.server} cannot move it: ${error.message}.`)
    throw error
  }
}

/** Valkey: the primary that has the slots sends them. */
async function migrateByValkey(from: Primary, to: Primary, ranges: readonly SlotRange[]): Promise<void> {
  const list = async () =>
    listedIn(await from.connection.ask((redis) => redis.call('CLUSTER', 'GETSLOTMIGRATIONS')))
  const before = new Set((await list()).map(({ name }) => name))
  await from.connection.ask((redis) =>
    redis.call('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', ...ranges.flat(), 'NODE', to.node.id),
  )
  await untilEnded(async () => {
    const ours = (await list()).find(
      ({ name, target_node }) => !before.has(name) && target_node === to.node.id,
    )
    return { state: ours?.state, why: ours?.message }
  }, 'success')
}

/** Redis: the primary that shall have the slots asks for them. */
async function migrateByRedis(_from: Primary, to: Primary, ranges: readonly SlotRange[]): Promise<void> {
  const id = String(
    await to.connection.ask((redis) => redis.call('CLUSTER', 'MIGRATION', 'IMPORT', ...ranges.flat())),
  )
  await untilEnded(async () => {
    const reply = await to.connection.ask((redis) => redis.call('CLUSTER', 'MIGRATION', 'STATUS', 'ID', id))
    const [ours] = listedIn(reply)
    return { state: ours?.state, why: ours?.last_error }
  }, 'completed')
}

async function untilEnded(
  look: () => Promise<{ readonly state: string | undefined; readonly why: string | undefined }>,
  done: string,
): Promise<void> {
  for (
    const endMs = performance.now() + migrationMsMax;
    performance.now() < endMs;
    await pause(lookEveryMs)
  ) {
    const { state, why } = await look()
    if (state === done) return
    if (state !== undefined && /^(failed|cancell?ed)$/.test(state))
      throw new Rejected(`The migration ended without moving anything (${state}${why ? `: ${why}` : ''}).`)
  }
  throw new Rejected(
    'The migration takes longer than 10 minutes and goes on. Run npm run shards to see where the shard is.',
  )
}

function listedIn(reply: unknown): readonly Listed[] {
  if (!Array.isArray(reply)) return []
  return reply.map((fields) => {
    const words: readonly string[] = Array.isArray(fields) ? fields.map(String) : []
    return Object.fromEntries(
      words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? '']] : [])),
    )
  })
}
