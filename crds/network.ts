import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Addresses and networks in one list, each counted once. */
export const networksMax = 100

/** The problem of a text that is no address and no network. */
export const networkProblem = 'must be an IPv4 or IPv6 address, or a network such as 10.0.0.0/8'

/** A network in its one form, or what is wrong with a text. */
export type ReadNetwork = { readonly network: string } | { readonly problem: string }

/**
 * Reads an address or a network: `203.0.113.7`, `10.0.0.0/8`, `2001:db8::/32`. Pure.
 *
 * Each has one form: a network of one address is that address, IPv6 is short and in lower case (RFC 5952), and an IPv4
 * address within IPv6 (`::ffff:1.2.3.4`) is an IPv4 address. A network with bits after its prefix is a problem, never
 * widened in silence: `203.0.113.7/8` is mostly a typing error, and would open 16 million addresses.
 */
export function readNetwork(text: string): ReadNetwork {
  const [address = '', bits, ...more] = text.trim().split('/')
  const family = isIP(address)
  const longest = family === 4 ? 32 : 128
  const length = lengthOf(bits, longest)
  if (family === 0 || address.includes('%') || more.length > 0 || length === undefined)
    return { problem: networkProblem }
  const parsed = ipaddr.parse(address)
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() && length >= 96)
    return written(parsed.toIPv4Address(), length - 96)
  return written(parsed, length)
}

/** The first problem, by its place in the list; `undefined` place: of the whole list. */
type ListProblem = { readonly at: number | undefined; readonly problem: string }

/** A list of networks in their one form, each once and in order, or everything that is wrong with it. Pure. */
export function readNetworks(
  texts: readonly string[],
): { readonly networks: readonly string[] } | { readonly problems: readonly ListProblem[] } {
  const read = texts.map(readNetwork)
  const distinct = new Set(read.map((one, at) => ('network' in one ? one.network : texts[at])))
  if (distinct.size > networksMax)
    return {
      problems: [{ at: undefined, problem: `must have at most ${networksMax} addresses and networks` }],
    }
  const problems = read.flatMap((one, at) => ('problem' in one ? [{ at, problem: one.problem }] : []))
  return problems.length > 0 ? { problems } : { networks: [...distinct].filter((one) => one !== undefined) }
}

function lengthOf(bits: string | undefined, longest: number): number | undefined {
  if (bits === undefined) return longest
  if (!/^(?:0|[1-9]\d{0,2})$/.test(bits)) return undefined
  const length = Number(bits)
  return length <= longest ? length : undefined
}

function written(address: ipaddr.IPv4 | ipaddr.IPv6, length: number): ReadNetwork {
  const text = address.toString()
  if (length === (address.kind() === 'ipv4' ? 32 : 128)) return { network: text }
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const network = `${family.networkAddressFromCIDR(`${text}/${length}`)}/${length}`
  if (network === `${text}/${length}`) return { network }
  return { problem: `must be ${network}, or ${text} for one address: the bits after the prefix are not zero` }
}
