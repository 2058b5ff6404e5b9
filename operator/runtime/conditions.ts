import { z } from 'zod'
import { type ClusterObject, timeText } from './cluster-object.ts'

/** One condition of a status, as `metav1.Condition` has it. */
export type Condition = WantedCondition & {
  readonly observedGeneration: number
  /** When `status` last changed; RFC 3339. */
  readonly lastTransitionTime: string
}

/** A condition as a plan wants it. True means good for each of the operator's conditions. */
export type WantedCondition = {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** One word in CamelCase. */
  readonly reason: string
  /** A sentence for users; no secret. */
  readonly message: string
}

/** Longest message that `metav1.Condition` allows. */
const messageLengthMax = 32_768

/**
 * The conditions to apply: exactly those that are wanted, in their order.
 *
 * `lastTransitionTime` changes only when `status` does, so applying unchanged conditions changes nothing and
 * triggers no watcher.
 */
export function mergeConditions(
  before: readonly Condition[],
  wanted: readonly WantedCondition[],
  { generation, nowMs }: { readonly generation: number; readonly nowMs: number },
): Condition[] {
  return wanted.map(({ type, status, reason, message }) => {
    const known = before.find((condition) => condition.type === type)
    return {
      type,
      status,
      reason,
      message: message.slice(0, messageLengthMax),
      observedGeneration: generation,
      lastTransitionTime: known?.status === status ? known.lastTransitionTime : timeText(nowMs),
    }
  })
}

const conditionSchema = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  observedGeneration: z.number(),
  lastTransitionTime: z.string(),
})

const statusSchema = z.object({ conditions: z.array(z.unknown()) })

/** The conditions that an object has. An unreadable one is left out, and so written again. */
export function conditionsOf(object: ClusterObject): Condition[] {
  const status = statusSchema.safeParse(object.status)
  if (!status.success) return []
  return status.data.conditions.flatMap((condition) => conditionSchema.safeParse(condition).data ?? [])
}
