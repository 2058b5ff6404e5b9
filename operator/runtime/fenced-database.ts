import type { Pool } from 'pg'
import { type Fence, Superseded } from '#core/audit/cluster-epoch'
import { inScope, ScopeBreach, type ScopedClient } from '#core/audit/scope'
import { orUnavailable } from '#core/db/availability'

/** Where an operator writes, and the fence that allows it. */
export type FencedDatabase = { readonly pool: Pool; readonly fence: () => Fence }

/** The object that a write is for. */
export type Writer = {
  readonly kind: 'ApiKey' | 'ModelProvider' | 'ModelRoute'
  readonly namespace: string
  readonly name: string
  /** Whose rows it writes, where they are of one organization. */
  readonly organizationId?: string | undefined
}

/**
 * Runs a transaction for an object that only commits while this operator leads. The audit log names the object.
 *
 * @throws PostgresUnavailable, or Superseded.
 */
export async function writeFenced<Answer>(
  { pool, fence }: FencedDatabase,
  { kind, namespace, name, organizationId }: Writer,
  work: (client: ScopedClient) => Promise<Answer>,
): Promise<Answer> {
  const held = fence()
  const resource = { kind, namespace, name }
  const scope = {
    actor: { kind: 'resource', clusterId: held.clusterId, resource },
    organizationId: organizationId ?? null,
    fence: held,
  } as const
  let ours: Error | undefined
  const written = inScope(pool, scope, work).catch((error: unknown) => {
    if (error instanceof Superseded || error instanceof ScopeBreach) ours = error
    throw error
  })
  try {
    return await orUnavailable(written)
  } catch (error) {
    throw ours ?? error
  }
}
