import { afterAll, expect, vi } from 'vitest'
import { createAdmission } from '#core/admission/admission'
import type { Hold } from '#core/admission/admission-reply'
import { findKey, hashKey } from '#core/keys/key'
import type { ChargeKind } from '#core/ledger/charge-kind'
import { connectRedis } from '#core/redis/redis-connection'
import { type Customer, pepper, recordOf, uuidV7 } from './customer.ts'
import { fixedCandidate, holdOf } from './shards.ts'
import type { CustomerOptions, Stack } from './stack.ts'

/** Nano-rubles per output token of every charge made here. */
const outputNano = 1_000n

/** A customer whose requests reach Redis without a gateway, by the scripts that a gateway calls. */
export type DirectCustomer = Customer & {
  /** Holds 10 000 tokens' worth. @param requestId by default a new one. */
  admit(requestId?: string): Promise<Hold>
  /** Charges `tokens` at 1000 nano-rubles each and answers what that costs. */
  settle(hold: Hold, tokens: number, chargeKind?: ChargeKind): Promise<bigint>
  /** What the key may do and has used. */
  state(): ReturnType<ReturnType<typeof createAdmission>['inspect']>
}

/** Makes customers of this file; `clock.offsetMs` is added to Redis's clock in what their requests do. */
export async function directChargesOfThisFile(stack: Stack) {
  const clock = { offsetMs: 0 }
  const connection = connectRedis(stack.redis.url, { name: 'test-direct', timeoutMs: 5_000 })
  afterAll(() => connection.close())
  await connection.connected(5_000)
  const admission = createAdmission(connection, { clockOffsetMs: () => clock.offsetMs })

  async function createDirectCustomer(options: CustomerOptions = {}): Promise<DirectCustomer> {
    const model = await stack.createModel({ inputNano: 0n, outputNano })
    const { rows } = await stack.database.pool.query('select id from model_prices where model = $1', [model])
    const priceId: string = rows[0].id
    const customer = await stack.createCustomer(options)
    const found = findKey(customer.key, pepper)
    if (found === undefined) throw new Error('a key without a key')
    const { key, shard } = found
    const secretHash = hashKey(key, pepper)
    const state = () => admission.inspect(shard, secretHash)
    await vi.waitFor(async () => expect((await state()).outcome).toBe('usable'), {
      timeout: 10_000,
      interval: 20,
    })
    return {
      ...customer,
      state,
      async admit(requestId = uuidV7()) {
        const candidates = [fixedCandidate({ model, holdNano: 10_000n * outputNano, tokens: 10_000 })]
        const record = recordOf({ modelRan: model, outcome: 'swept', usageSource: 'none' })
        return holdOf(
          await admission.admit({ requestId, shard, secretHash, candidates, record, timeoutMs: 600_000 }),
        )
      },
      async settle(hold, tokens, chargeKind = 'settled') {
        const record = recordOf({ modelRan: model, priceId, tokens: { output: tokens } })
        const { costNano } = await admission.settle({
          hold,
          chargeKind,
          costNano: BigInt(tokens) * outputNano,
          tokens,
          record,
        })
        return costNano
      },
    }
  }
  return { clock, createDirectCustomer }
}
