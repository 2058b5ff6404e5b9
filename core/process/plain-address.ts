import { isIPv6 } from 'node:net'
import { groupsOf } from './networks.ts'

/** An address as it is written down and compared: an IPv4 one in plain form, without a zone. Pure. */
export function plainAddress(address: string): string {
  const [bare = ''] = address.split('%')
  return isIPv6(bare) ? (findMapped(groupsOf(bare)) ?? bare) : bare
}

/** The IPv4 address that an IPv6 one contains (`::ffff:a.b.c.d`), in whatever spelling. */
function findMapped(groups: readonly number[]): string | undefined {
  const [high = 0, low = 0] = groups.slice(6)
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  return isMapped ? [high >> 8, high & 255, low >> 8, low & 255].join('.') : undefined
}
