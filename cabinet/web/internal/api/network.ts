import { isIPv6 } from 'node:net'

/** Whom an address stands for when calls are counted: of IPv6 its /64, which one customer has for himself. Pure. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  // The URL parser writes an address in one way, whatever its zeros.
  const whole = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail = ''] = whole.split('::')
  const before = head.split(':').filter(Boolean)
  const after = tail.split(':').filter(Boolean)
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}
