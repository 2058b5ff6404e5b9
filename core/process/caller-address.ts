import { isIP } from 'node:net'
import type { Networks } from './networks.ts'
import { plainAddress } from './plain-address.ts'

/**
 * The caller: the last hop that is not our proxy. Each proxy appends its client to `X-Forwarded-For`. Earlier entries
 * may be forged by any client and are never read. Pure.
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
