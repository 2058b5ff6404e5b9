import { z } from 'zod'
import { readEnvironment, redisUrlsSetting } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { openRedis } from '#core/redis/open-redis'
import { RedisUnavailable } from '#core/redis/redis-connection'
import { listShards } from './internal/list-shards.ts'
import { type Movable, movableSetting } from './internal/movable.ts'
import { emptyPrimary, moveShard } from './internal/move.ts'
import { readPrimaries } from './internal/primaries.ts'
import { Rejected } from './internal/rejected.ts'

/**
 * `npm run shards`: lists the shards of a cluster by primary and load.
 * `npm run shards -- move SHARD TO`: moves one to the primary `TO` (host and port), under traffic.
 * `npm run shards -- empty FROM TO`: moves everything that the primary `FROM` has, so that it can be removed.
 *
 * `REDIS_URL` is that of a user who may do everything, as for `prepare-redis`.
 */
const server = z.string().regex(/^\S+:\d+$/)
const commands = z.union([
  z.tuple([]).transform(() => ({ kind: 'list' }) as const),
  z
    .tuple([z.literal('move'), movableSetting, server])
    .transform(([, what, to]) => ({ kind: 'move', what, to }) as const),
  z
    .tuple([z.literal('empty'), server, server])
    .transform(([, from, to]) => ({ kind: 'empty', from, to }) as const),
])
type Command = z.infer<typeof commands>

/** A migration of a large shard takes seconds, and commands wait while Redis copies it. */
const answerMs = 5_000

ignoreInspectorSignal()
const env = readEnvironment('npm run shards', z.object({ REDIS_URL: redisUrlsSetting }), process.env)
const asked = commands.safeParse(process.argv.slice(2))
if (asked.success) await run(asked.data)
else {
  process.stderr.write(
    'Usage: npm run shards [-- move SHARD TO | -- empty FROM TO]\nSHARD is 0 to 63, or common; FROM and TO are host:port of a primary.\n',
  )
  process.exitCode = 2
}

async function run(command: Command): Promise<void> {
  const redis = openRedis(env.REDIS_URL, { name: 'model-gateway-shards', timeoutMs: answerMs })
  try {
    await redis.connected(answerMs).catch(() => undefined) // shards without a server are listed as such
    if (redis.kind() === 'single')
      throw new Rejected('REDIS_URL is one server, not a cluster: nothing can be moved.')
    const primaries = await readPrimaries(redis, answerMs)
    if (command.kind === 'list') await listShards(redis, primaries, say)
    else if (command.kind === 'move') await move(command.what, command.to)
    else await emptyPrimary(redis, primaries, command, say)

    async function move(what: Movable, to: string): Promise<void> {
      await moveShard(redis, primaries, { what, to }, say)
    }
  } catch (error) {
    if (!(error instanceof Rejected) && !(error instanceof RedisUnavailable)) throw error
    process.stderr.write(`${sentenceOf(error)}\n`)
    process.exitCode = 1
  } finally {
    redis.close()
  }
}

function sentenceOf(error: Rejected | RedisUnavailable): string {
  if (error instanceof Rejected) return error.message
  const why = error.cause instanceof Error ? error.cause.message : String(error.cause)
  return `${error.message}: ${why}.`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
