import { z } from 'zod'
import { allShards, type Shard } from '#core/redis/shard'
import { commonSlot, slotOfShard } from '#core/redis/shard-slots'

/** A shard, or what is outside the shards: the catalog and the pepper's check. */
export type Movable = Shard | 'common'

/** All that hash slots hold. */
export const allMovables: readonly Movable[] = [...allShards, 'common']

/** `0` to `63`, or `common`. */
export const movableSetting = z.union([
  z.literal('common'),
  z
    .string()
    .regex(/^\d+$/)
    .transform((text, context) => {
      const shard = allShards.find((known) => known === Number(text))
      if (shard !== undefined) return shard
      context.addIssue({ code: 'custom' })
      return z.NEVER
    }),
])

/** Its hash slot. */
export function slotOf(what: Movable): number {
  return what === 'common' ? commonSlot : slotOfShard(what)
}

/** Its name in sentences. */
export function nameOf(what: Movable): string {
  return what === 'common' ? 'The catalog' : `Shard ${what}`
}
