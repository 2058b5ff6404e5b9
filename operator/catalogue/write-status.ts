import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../runtime/cluster-client.ts'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { conditionsOf, mergeConditions } from '../runtime/conditions.ts'
import type { Resource } from '../runtime/resources.ts'
import type { Verdict } from './verdict.ts'

/** What is said about an object: its conditions by type, and the other fields of its status. */
export type Saying = {
  readonly verdicts: Readonly<Record<string, Verdict>>
  readonly fields?: object
}

/** Writes the status of an object, unless it says so already: an unchanged object costs no request. */
export async function writeStatus(
  client: Pick<ClusterClient, 'applyStatus'>,
  resource: Resource,
  object: ClusterObject,
  { verdicts, fields = {} }: Saying,
  nowMs: number,
): Promise<void> {
  const { generation = 0 } = object.metadata
  const wanted = Object.entries(verdicts).map(([type, verdict]) => ({ type, ...verdict }))
  const conditions = mergeConditions(conditionsOf(object), wanted, { generation, nowMs })
  const status = { observedGeneration: generation, ...fields, conditions }
  if (!isDeepStrictEqual(object.status, status)) await client.applyStatus(resource, { ...object, status })
}
