import { type ListedRefusal, listedMax, listedMs, readRefusals } from '#core/admission/listed-refusals'
import { type RedisServers, RedisUnavailable } from '#core/redis/redis-connection'

/** The rejections of an organization that are kept; `undefined`: Redis is unavailable. */
export async function findRejections(
  redis: RedisServers,
  organizationId: string,
): Promise<readonly ListedRefusal[] | undefined> {
  try {
    return await readRefusals(redis, organizationId)
  } catch (error) {
    if (error instanceof RedisUnavailable) return undefined
    throw error
  }
}

/** Since when all rejections are kept: the last 1,000 of the organization in 7 days. Pure but for the clock. */
export function keptSince(rejections: readonly ListedRefusal[] | undefined): string {
  const keptMs = Date.now() - listedMs
  const isFull = rejections !== undefined && rejections.length >= listedMax
  const oldestMs = isFull ? rejections.at(-1)?.atMs : undefined
  return new Date(Math.max(keptMs, oldestMs ?? 0)).toISOString()
}

/** How many of these rejections have each value, the highest count first. Pure. */
export function countBy<Value extends string>(
  rejections: readonly ListedRefusal[],
  textOf: (refused: ListedRefusal) => Value,
): readonly { readonly value: Value; readonly count: number }[] {
  return [...Map.groupBy(rejections, textOf)]
    .map(([value, own]) => ({ value, count: own.length }))
    .toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
}
