import { BlockList, isIP, isIPv6 } from 'node:net'

/** A set of networks that an address is in or not. */
export type Networks = { has(address: string): boolean }

/** @param cidrs such as `10.0.0.0/8`, or a single address */
export function createNetworks(cidrs: readonly string[]): Networks {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return { has: (address) => isIP(address) !== 0 && list.check(address, familyOf(address)) }
}

/** Whether a text is `<address>/<bits>`. */
export function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/')
  const family = isIP(address)
  return (
    family !== 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32)
  )
}

/** The eight groups of a valid IPv6 address. */
export function groupsOf(address: string): readonly number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16)).join(':'),
  )
  const [head = [], tail] = hex
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))))
  if (tail === undefined) return head
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

function familyOf(address: string): 'ipv6' | 'ipv4' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}
