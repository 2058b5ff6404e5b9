import { isIP } from 'node:net'
import type { Networks } from '../../process/networks.ts'
import { plainAddress } from '../../process/plain-address.ts'

/**
 * Who called: the last hop that is no proxy of ours. Each proxy writes at the end of `X-Forwarded-For` from whom it had
 * the request; what stands before what an untrusted hop wrote is anybody's, and never read. Pure.
 */
export function callerAddress(
  peer: string,
  forwardedFor: string | undefined,
  trustedProxies: Networks,
): string {
  const hops = (forwardedFor ?? '').split(',').map((hop) => hop.trim())
  let address = plainAddress(peer)
  while (trustedProxies.has(address)) {
    const before = plainAddress(hops.pop() ?? '')
    if (isIP(before) === 0) break
    address = before
  }
  return address
}
