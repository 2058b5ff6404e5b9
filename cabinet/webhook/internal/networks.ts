import { BlockList, isIP, isIPv6 } from 'node:net'
import { plainAddress } from '../../process/plain-address.ts'

/** A set of networks that an address is in or not. */
export type Networks = { has(address: string): boolean }

/** @param cidrs such as `10.0.0.0/8`, or an address alone */
export function createNetworks(cidrs: readonly string[]): Networks {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', length] = cidr.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (length === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(length), family)
  }
  return {
    has: (address) => isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'),
  }
}

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
