import type { Pool } from 'pg'
import { inScope, type ScopedClient, scopeOfPerson, scopeOfToken } from '#core/audit/scope'
import { findKeyOwners } from '#core/clusters/cluster-resources'
import { isId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import { type KeyState, readKeyOf } from '#core/keys/key-state'
import { holdKeyOf } from '#core/keys/key-store'
import type { ProgrammedKeys } from '#core/keys/programmed-keys'
import type { OrganizationCaller } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'
import { notFound, type Problem } from '../../api/problem.ts'
import type { ShownKey } from '../key-contracts.ts'
import { shownOwner, showOneKey, versionOf } from './shown-key.ts'

type CallerInput = { readonly caller: OrganizationCaller; readonly visit: Visit }

type KeyInput = CallerInput & { readonly params: { readonly key_id: string } }

/** Writes as a member or a token, only for its organization. */
export function inCallerScope<Answer>(
  pool: Pool,
  { caller, visit }: CallerInput,
  work: (client: ScopedClient) => Promise<Answer>,
): Promise<Answer> {
  const { organizationId } = caller
  const scope =
    'tokenId' in caller
      ? scopeOfToken(caller.tokenId, organizationId, visit)
      : scopeOfPerson(caller.userId, organizationId, visit)
  return inScope(pool, scope, work)
}

type Changed = { readonly key: ShownKey; readonly version: string }

/**
 * Changes a key of the caller's organization and responds once the data plane has the change.
 *
 * @param which `own`: excludes keys of a cluster.
 * @param work returns a problem if it changed nothing.
 */
export async function change(
  { pool, programmed }: { readonly pool: Pool; readonly programmed: ProgrammedKeys },
  input: KeyInput,
  which: 'own' | 'any',
  work: (client: ScopedClient, key: KeyState) => Promise<Problem | undefined>,
) {
  const { caller, params } = input
  const { organizationId } = caller
  if (!isId(params.key_id)) return notFound
  const done = await inCallerScope(pool, input, async (client): Promise<Changed | Failed> => {
    const key = await holdKeyOf(client, organizationId, params.key_id)
    if (key === undefined) return notFound
    const foreign = which === 'own' ? await requireOwn(client, key) : undefined
    const problem = foreign ?? (await work(client, key))
    if (problem !== undefined) return { problem }
    const after = (await readKeyOf(client, organizationId, key.keyId)) ?? key
    const shown = await showOneKey(client, after)
    return { key: shown, version: versionOf(after, shown) }
  })
  if ('problem' in done) return done
  const { key, version } = done
  const isProgrammed = await programmed.wait(key.id)
  return { status: statusOfChange(isProgrammed), body: { key, programmed: isProgrammed }, version }
}

type Failed = { readonly problem: Problem }

/** 202 if the data plane does not have the change yet. */
export function statusOfChange(isProgrammed: boolean): 200 | 202 {
  return isProgrammed ? 200 : 202
}

/** Rejects keys owned by an ApiKey, which defines them. */
export async function requireOwn(client: Queryable, key: KeyState): Promise<Problem | undefined> {
  const { keyId, organizationId, managedBy } = key
  if (managedBy === 'cabinet') return undefined
  const owner = (await findKeyOwners(client, organizationId, [keyId])).get(keyId)
  return { code: 'managed_by_kubernetes', ...(owner === undefined ? {} : { facts: shownOwner(owner) }) }
}
