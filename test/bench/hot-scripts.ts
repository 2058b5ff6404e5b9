import { startRedis } from '#standalone/redis'
import { recordOf, uuidV7 } from '../support/customer.ts'
import { emptyRecord, fixedCandidate, openShard } from '../support/shards.ts'
import { readScriptUs } from './accounting.ts'
import { quantile } from './load.ts'

/** Requests that are admitted together, and then settled together. */
const batchSize = 50
const batches = 200
const record = recordOf({ tokens: { input: 180, output: 160 } })

/**
 * µs that a Redis with nothing else to do spends in the scripts of one non-streaming request, by its own accounting: what a tool
 * like `redis-benchmark` measures. The median of batches, of which some fall to whatever else the machine does.
 */
export async function measureHotScripts(): Promise<number> {
  await using redis = await startRedis({ appendonly: 'yes' })
  const shard = await openShard(redis, {
    key: { rpm: 100_000_000, tpm: 2_000_000_000 },
    balanceNano: 10n ** 18n,
  })
  const readUs = () => readScriptUs(shard.connection.redis)
  const spentUs: number[] = []
  for (let batch = 0; batch < batches; batch++) {
    const beforeUs = await readUs()
    const holds = await Promise.all(Array.from({ length: batchSize }, admitOne))
    await Promise.all(
      holds.map((hold) =>
        shard.admission.settle({ hold, chargeKind: 'settled', costNano: 6_600_000n, tokens: 340, record }),
      ),
    )
    spentUs.push(((await readUs()) - beforeUs) / batchSize)
  }
  shard.close()
  return quantile(spentUs, 0.5)

  async function admitOne() {
    const answer = await shard.admission.admit({
      requestId: uuidV7(),
      shard: shard.shard,
      secretHash: shard.secretHash,
      candidates: [fixedCandidate({ model: 'bench/plain', holdNano: 8_900_000n, tokens: 432 })],
      record: emptyRecord,
      timeoutMs: 600_000,
    })
    if (answer.outcome === 'refused') throw new Error(`refused: ${answer.reason}`)
    return answer.hold
  }
}
