import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { acrossMoves } from '#core/admission/across-moves'
import { slotOfShard } from '#core/redis/shard-slots'
import type { RedisServer } from '#standalone/redis'
import { moveCount, movedHoldCount } from '../support/environment.ts'
import { clusterAsServer, redisClusterOfThisFile } from '../support/redis-cluster.ts'
import { runEntry } from '../support/run-entry.ts'
import { emptyRecord, fixedCandidate, holdOf, openShard } from '../support/shards.ts'

const atOnce = 50

const cluster = await redisClusterOfThisFile()
const serverOf = ({ url }: RedisServer) => new URL(url).host

async function primariesOf(slot: number) {
  const owner = await cluster.primaryOf(slot)
  const others = await Promise.all([0, 8_000, 16_000].map((other) => cluster.primaryOf(other)))
  const target = others.find((node) => node !== undefined && node !== owner)
  if (owner === undefined || target === undefined) throw new Error('no primaries')
  return { owner, target }
}

/** Repeats until it is stopped, and throws what failed. */
function keepDoing(act: () => Promise<unknown>, everyMs: number) {
  let isOver = false
  const ended = (async () => {
    while (!isOver) {
      await act()
      await pause(everyMs)
    }
  })()
  ended.catch(() => undefined) // `stop` throws it
  return {
    async stop() {
      isOver = true
      await ended
    },
  }
}

test(`a shard with ${movedHoldCount} holds moves ${moveCount} times during admits, settles and sweeps: no error, its sums are always those of its holds, it is closed for less than a second`, {
  timeout: 600_000,
}, async () => {
  const shard = await openShard(clusterAsServer(cluster), {
    leaseMs: 3_000,
    balanceNano: 1_000_000_000_000n,
    key: { rpm: 10_000_000, tpm: 2_000_000_000 },
  })
  onTestFinished(shard.close)
  const admission = acrossMoves(shard.servers, shard.admission)
  const admit = async () =>
    holdOf(
      await admission.admit({
        requestId: crypto.randomUUID(),
        shard: shard.shard,
        secretHash: shard.secretHash,
        candidates: [fixedCandidate()],
        record: emptyRecord,
        timeoutMs: 600_000,
      }),
    )
  for (let made = 0; made < movedHoldCount; made += atOnce)
    await Promise.all(Array.from({ length: atOnce }, admit))

  let closedMsMax = 0
  let openAtMs = performance.now()
  const watching = keepDoing(async () => {
    const { outcome } = await shard.admission
      .inspect(shard.shard, shard.secretHash)
      .catch(() => ({ outcome: 'moved' }))
    if (outcome === 'usable') openAtMs = performance.now()
    closedMsMax = Math.max(closedMsMax, performance.now() - openAtMs)
  }, 10)
  const doings = [
    // As the worker's job.
    keepDoing(() => shard.posting.handOver(shard.shard).catch(() => undefined), 100),
    keepDoing(async () => {
      const hold = await admit()
      await admission.settle({ hold, chargeKind: 'settled', costNano: 500n, tokens: 5, record: emptyRecord })
    }, 5),
    keepDoing(() => shard.posting.sweep(shard.shard, 100), 200),
  ]
  const wrongSums = async () => {
    const names = (await shard.posting.findNames([shard.shard])).get(shard.shard)
    if (names === undefined) throw new Error('no names')
    return await shard.posting.recount(shard.shard, names)
  }

  const slot = slotOfShard(shard.shard)
  for (let move = 0; move < moveCount; move++) {
    const { target } = await primariesOf(slot)
    const args = ['move', String(shard.shard), serverOf(target)]
    expect(await runEntry('release/shards/main.ts', { REDIS_URL: cluster.url }, { args })).toMatchObject({
      code: 0,
      stderr: '',
    })
    expect(await wrongSums()).toEqual([])
  }
  for (const doing of [watching, ...doings]) await doing.stop()
  expect(await wrongSums()).toEqual([])
  expect(closedMsMax).toBeLessThan(1_000)
  const { owner } = await primariesOf(slot)
  expect(Number(await cluster.ask(owner, 'ZCARD', shard.nameOf('due')))).toBeGreaterThanOrEqual(
    movedHoldCount,
  )
  process.stdout.write(`closed for at most ${Math.round(closedMsMax)} ms\n`)
})
