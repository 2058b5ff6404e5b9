import { isIP } from 'node:net'
import type { Networks } from './networks.ts'
import { plainAddress } from './plain-address.ts'

/**
 * The caller: the last hop that is not our proxy. Each proxy appends its client to `X-Forwarded-For`. Earlier entries
 * may be forged by any client and are never read. '': unknown, because a trusted proxy named no address. The address of that proxy is
 * not the caller's, and may be allowed more. Pure.
 */
export function callerAddress(
  peer: string,
  forwardedFor: string | undefined,
  trustedProxies: Networks,
): string {
  const hops = (forwardedFor ?? '').split(',')
  let address = plainAddress(peer)
  while (trustedProxies.has(address)) address = addressOf(hops.pop() ?? '')
  return address
}

/** Some proxies add the port: `a.b.c.d:port`, `[v6]:port`. */
function addressOf(hop: string): string {
  const text = hop.trim()
  const [, v6, v4] = /^(?:\[([^\]]*)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/.exec(text) ?? []
  const address = plainAddress(v6 ?? v4 ?? text)
  return isIP(address) === 0 ? '' : address
}
