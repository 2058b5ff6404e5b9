import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { OwnerReference } from './cluster-object.ts'

/** Where a pod finds the token of its service account. */
export const podTokenPath = '/var/run/secrets/kubernetes.io/serviceaccount/token'

const claimsSchema = z.object({
  'kubernetes.io': z.object({ serviceaccount: z.object({ name: z.string(), uid: z.string() }) }),
})

/**
 * The service account of this pod as an owner: objects that belong to it are deleted with it. Its token names
 * the account, so no permission to read accounts is needed. `undefined` outside of a pod.
 */
export function readPodAccount(tokenPath = podTokenPath): OwnerReference | undefined {
  const claims = claimsSchema.safeParse(readClaims(tokenPath))
  return claims.success
    ? { apiVersion: 'v1', kind: 'ServiceAccount', ...claims.data['kubernetes.io'].serviceaccount }
    : undefined
}

/** A value that is not a JSON Web Token has no claims. */
function readClaims(path: string): unknown {
  try {
    const [, claims = ''] = readFileSync(path, 'utf8').split('.')
    return JSON.parse(Buffer.from(claims, 'base64url').toString())
  } catch {
    return undefined
  }
}
