import { z } from 'zod'
import { type ClusterObject, keyOf } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import { claimsToBeMirror } from '../../status/managed-by.ts'
import { readKeyObject } from './key-object.ts'

/**
 * Which ApiKeys name which Secret. If two name the same one, only the one with the better claim ever creates
 * it. Deleting that Secret must not hand it over to the other.
 */
export type SecretClaims = {
  /**
   * Call when an ApiKey is new, changed or deleted. Returns the others that name the Secret that it no longer
   * claims.
   */
  note(key: string, object: ClusterObject | undefined): readonly string[]
  /** Name of the ApiKey with a better claim to the Secret that this one names. */
  rivalOf(object: ClusterObject): string | undefined
}

export function createSecretClaims(): SecretClaims {
  /** By namespace and name of the Secret, then by ApiKey. */
  const claims = new Map<string, Map<string, ClusterObject>>()
  const claimOf = new Map<string, string>()

  function drop(key: string): readonly string[] {
    const secret = claimOf.get(key)
    if (secret === undefined) return []
    claimOf.delete(key)
    const others = claims.get(secret)
    others?.delete(key)
    if (others?.size === 0) claims.delete(secret)
    return [...(others?.keys() ?? [])]
  }

  return {
    note(key, object) {
      const secret = object && secretOf(object)
      const bereft = secret === claimOf.get(key) ? [] : drop(key)
      if (object === undefined || secret === undefined) return bereft
      claims.set(secret, (claims.get(secret) ?? new Map()).set(key, object))
      claimOf.set(key, secret)
      return bereft
    },
    rivalOf(object) {
      const secret = secretOf(object)
      const others = secret === undefined ? [] : [...(claims.get(secret)?.values() ?? [])]
      const { name } = object.metadata
      return others.find((other) => other.metadata.name !== name && isBetter(other, object))?.metadata.name
    },
  }
}

/** The Secret that an ApiKey claims: none while it is being deleted, is not accepted, or mirrors a key of the cabinet. */
function secretOf(object: ClusterObject): string | undefined {
  const isRefused = conditionsOf(object).some(({ type, status }) => type === 'Accepted' && status === 'False')
  if (object.metadata.deletionTimestamp !== undefined || isRefused || claimsToBeMirror(object))
    return undefined
  const { namespace = '' } = object.metadata
  return keyOf({ namespace, name: readKeyObject(object).secret.name })
}

/** One that has written its API key there comes first, then the older one. */
function isBetter(one: ClusterObject, other: ClusterObject): boolean {
  const [left, right] = [one, other].map((object) =>
    [hasWritten(object) ? 0 : 1, object.metadata.creationTimestamp ?? '', object.metadata.name].join(' '),
  )
  return left !== undefined && right !== undefined && left < right
}

const statusSchema = z.looseObject({ secretRef: z.looseObject({}) })

function hasWritten({ status }: ClusterObject): boolean {
  return statusSchema.safeParse(status).success
}
