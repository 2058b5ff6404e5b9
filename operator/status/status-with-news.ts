import { z } from 'zod'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { conditionsOf, mergeConditions } from '../runtime/conditions.ts'
import { unknown, type Verdict } from './verdict.ts'

const unread = unknown('Pending', 'The operator has not been able to check this yet')

/**
 * The status of an object of which only `news` is known: every other earlier condition stays, and missing
 * ones are Unknown. Pure.
 *
 * @param types of all its conditions, in their order.
 */
export function statusWithNews(
  object: ClusterObject,
  types: readonly string[],
  news: Readonly<Record<string, Verdict>>,
  nowMs: number,
): object {
  const { generation = 0 } = object.metadata
  const before = conditionsOf(object)
  const wanted = types.map((type) => ({ type, ...(news[type] ?? unread) }))
  const conditions = mergeConditions(before, wanted, { generation, nowMs }).map((condition) => {
    const isNews = news[condition.type] !== undefined
    return (isNews ? undefined : before.find(({ type }) => type === condition.type)) ?? condition
  })
  const observed = { observedGeneration: generation }
  const fields = fieldsOf(object)
  // A spec is observed only once it has been judged.
  return news.Accepted === undefined
    ? { ...observed, ...fields, conditions }
    : { ...fields, ...observed, conditions }
}

function fieldsOf({ status }: ClusterObject): object {
  return z.looseObject({}).safeParse(status).data ?? {}
}
