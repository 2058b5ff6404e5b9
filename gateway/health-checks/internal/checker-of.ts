import { createHash } from 'node:crypto'

/**
 * Which gateway checks a provider (rendezvous hashing). Gateways with the same list of gateways get the same
 * result, and each checks about as many. A gateway that joins or leaves moves only its own checks.
 * `undefined`: there is none. Pure.
 */
export function checkerOf(provider: string, gateways: readonly string[]): string | undefined {
  const weightOf = (gateway: string) => createHash('sha256').update(`${gateway}\n${provider}`).digest('hex')
  const weighed = gateways.map((gateway) => ({ gateway, weight: weightOf(gateway) }))
  return weighed.toSorted((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.gateway
}
