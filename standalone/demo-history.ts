import { createHash, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inScope } from '#core/audit/scope'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import { costOf, noTokens, type TokenClasses } from '#core/ledger/price'
import type { RequestRecord } from '#core/ledger/request-record'
import { newRequestId } from '#gateway/http/request-id'
import type { DemoPrices } from './demo-catalog.ts'

const dayMs = 86_400_000
/** Moscow is three hours ahead of UTC all year. */
const moscowMs = 3 * 3_600_000
const days = 30
/** Requests on a busy day and on a Sunday. */
const busiest = 24
const quietest = 4

export type DemoOwner = { readonly organizationId: string; readonly keyId: string }

/**
 * Creates 30 days of history for the demo organization's key, up to yesterday: requests, charges and usage, posted
 * like settlement does, with IDs of their time. Their cost is credited before the first one, so the balance stays the
 * same.
 */
export async function writeDemoHistory(
  pool: Pool,
  { organizationId, keyId }: DemoOwner,
  prices: DemoPrices,
  nowMs = Date.now(),
): Promise<void> {
  const today = Math.floor((nowMs + moscowMs) / dayMs)
  const entries = Array.from({ length: days }, (_, ago) => today - days + ago)
    .flatMap(requestsOf)
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(({ atMs, day, ...said }): BatchEntry => {
      const record = recordOf(said, prices)
      const price = prices.get(record.modelAsked) ?? null
      const costNano = record.outcome === 'completed' ? costOf(record.tokens, price) : 0n
      return {
        requestId: newRequestId(atMs),
        chargeKind: 'settled',
        organizationId,
        keyId,
        day,
        costNano,
        record,
      }
    })
  const spent = entries.reduce((sum, { costNano }) => sum + costNano, 0n)
  const scope = { actor: { kind: 'command', name: 'npm start' }, organizationId } as const
  await inScope(pool, scope, (client) =>
    credit(client, {
      organizationId,
      kind: 'adjustment',
      refId: randomUUID(),
      amount: nanoRub(spent),
      at: new Date((today - days) * dayMs - moscowMs),
    }),
  )
  await postBatch(pool, entries)
}

type Said = { readonly model: string; readonly input: number; readonly output: number; readonly ms: number }

/** Requests of one Moscow day, in office hours. Always the same for a given day. */
function requestsOf(day: number): readonly (Said & { readonly atMs: number; readonly day: number })[] {
  const isSunday = (day + 4) % 7 === 0 // 1970-01-01 was a Thursday
  const count = isSunday ? quietest : quietest + dice(`${day}`, busiest - quietest)
  return Array.from({ length: count }, (_, at) => {
    const seed = `${day} ${at}`
    const kinds = [
      'demo/echo',
      'demo/echo',
      'demo/echo',
      'demo/slow',
      'demo/slow',
      'demo/embed',
      'demo/error',
    ]
    const model = kinds[dice(`${seed} model`, kinds.length)] ?? 'demo/echo'
    return {
      day,
      model,
      input: 50 + dice(`${seed} input`, 8_000),
      output: 20 + dice(`${seed} output`, 1_500),
      ms: 80 + dice(`${seed} ms`, 4_000),
      atMs: day * dayMs - moscowMs + (9 * 60 + dice(`${seed} time`, 12 * 60)) * 60_000 + dice(seed, 60_000),
    }
  })
}

function recordOf({ model, input, output, ms }: Said, prices: DemoPrices): RequestRecord {
  const isEmbedding = model === 'demo/embed'
  const hasFailed = model === 'demo/error'
  const tokens: TokenClasses = hasFailed ? noTokens : { ...noTokens, input, output: isEmbedding ? 0 : output }
  return {
    endpoint: isEmbedding ? 'embeddings' : 'chat',
    modelAsked: model,
    modelRan: hasFailed ? null : model,
    outcome: hasFailed ? 'failed' : 'completed',
    status: hasFailed ? 502 : 200,
    errorCode: hasFailed ? 'upstream_error' : null,
    stream: model === 'demo/slow',
    priceId: hasFailed ? null : (prices.get(model)?.id ?? null),
    tokens,
    usageSource: hasFailed ? 'none' : 'provider',
    attempts: [
      { model, provider: 'demo', backend: 'main', result: hasFailed ? 'status_500' : 'answered', ms },
    ],
    droppedParameters: [],
    outputLimit: null,
    firstContentMs: hasFailed ? null : Math.round(ms / 3),
    totalMs: ms,
  }
}

/** A whole number from 0 to below `sides`. Always the same for a given seed. */
function dice(seed: string, sides: number): number {
  return createHash('sha256').update(seed).digest().readUInt32BE() % sides
}
