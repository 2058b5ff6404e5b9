import type { Pool } from 'pg'
import { listResources } from '#core/clusters/cluster-resources'
import { type KeyState, mayBeAccepted, readKeyStates } from '#core/keys/key-state'
import type { ObjectName } from '../../runtime/cluster-object.ts'

/** A key of an ApiKey, whether or not that still exists, which gateways may accept. */
export type LiveKey = ObjectName & {
  readonly keyId: string
  /** Its first and last characters, by which users recognize it. */
  readonly visible: string
  readonly state: 'works' | 'is blocked' | 'is revoked, but no worker has sent the revocation to the gateways'
}

const queryKeysMax = 500

/** The keys of the ApiKeys of a cluster that gateways may accept, as the database has them, in order of namespace and name. */
export async function readLiveKeys(
  pool: Pool,
  clusterId: string,
  namespaces: readonly string[],
): Promise<readonly LiveKey[]> {
  const noted = (await listResources(pool, clusterId, 'ApiKey')).filter(
    ({ namespace }) => namespaces.length === 0 || namespaces.includes(namespace),
  )
  const states = new Map<string, KeyState>()
  for (let at = 0; at < noted.length; at += queryKeysMax) {
    const keyIds = noted.slice(at, at + queryKeysMax).map(({ subject }) => subject)
    for (const state of await readKeyStates(pool, keyIds)) states.set(state.keyId, state)
  }
  return noted.flatMap(({ namespace, name, subject }) => {
    const key = states.get(subject)
    return key === undefined || !mayBeAccepted(key) ? [] : [{ namespace, name, ...liveKeyOf(key) }]
  })
}

function liveKeyOf(key: KeyState): Omit<LiveKey, 'namespace' | 'name'> {
  const [secret] = key.secrets
  return {
    keyId: key.keyId,
    visible: secret === undefined ? '' : `${secret.prefix}…${secret.suffix}`,
    state: stateOf(key),
  }
}

function stateOf({ revoked, blockedBy }: KeyState): LiveKey['state'] {
  if (revoked) return 'is revoked, but no worker has sent the revocation to the gateways'
  return blockedBy.length > 0 ? 'is blocked' : 'works'
}
