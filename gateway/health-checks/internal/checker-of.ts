import { createHash } from 'node:crypto'

/**
 * Which gateway checks a provider: every one that knows the same gateways finds the same, and each checks about as many.
 * Whoever comes or goes changes only what it checks itself (rendezvous hashing). `undefined`: there is none. Pure.
 */
export function checkerOf(provider: string, gateways: readonly string[]): string | undefined {
  const weightOf = (gateway: string) => createHash('sha256').update(`${gateway}\n${provider}`).digest('hex')
  const weighed = gateways.map((gateway) => ({ gateway, weight: weightOf(gateway) }))
  return weighed.toSorted((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.gateway
}
