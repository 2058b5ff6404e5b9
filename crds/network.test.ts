import { isIP } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createAllowedNetworks } from '#core/keys/allowed-networks'
import { apiKeySchema } from './api-key.ts'
import { networkProblem, networksMax, readNetwork, readNetworks } from './network.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  [' 203.0.113.7\t', '203.0.113.7'],
  ['203.0.113.7/32', '203.0.113.7'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['::/0', '::/0'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:0db8::/32', '2001:db8::/32'],
  ['2001:db8::1/128', '2001:db8::1'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::FFFF:102:304', '1.2.3.4'],
  ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
  ['::ffff:0:0/96', '0.0.0.0/0'],
])('%j is %s', (text, network) => {
  expect(readNetwork(text)).toEqual({ network })
})

test.each([
  ...['', 'x', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', '0x7f.1', '2130706433', '1.2.3.4:80'],
  ...['10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/08', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/255.0.0.0'],
  ...['::/129', ':::', '[::1]', 'fe80::1%eth0', '1.2.3.4,5.6.7.8', '1.2.3.4\u0000', 'localhost', '*'],
])('%j is no network', (text) => {
  expect(readNetwork(text)).toEqual({ problem: networkProblem })
})

test.each([
  ['203.0.113.7/8', '203.0.0.0/8', '203.0.113.7'],
  ['2001:db8::1/32', '2001:db8::/32', '2001:db8::1'],
  ['::ffff:10.1.2.3/104', '10.0.0.0/8', '10.1.2.3'],
])('%s is never widened in silence: the problem names both meanings', (text, network, address) => {
  const read = readNetwork(text)
  expect('problem' in read ? read.problem : '').toContain(`must be ${network}, or ${address} for one address`)
})

test('a list keeps its order and each network once; one that is too long has one problem', () => {
  expect(readNetworks(['::1', '10.0.0.0/8', '0:0::1', '::ffff:10.0.0.0/104'])).toEqual({
    networks: ['::1', '10.0.0.0/8'],
  })
  const many = (count: number) => Array.from({ length: count }, (_, n) => `10.0.${n >> 8}.${n & 255}`)
  expect(readNetworks([...many(networksMax), ...many(networksMax)])).toEqual({ networks: many(networksMax) })
  for (const texts of [many(networksMax + 1), many(1_000), many(1_000).map((text) => `${text}/x`)])
    expect(readNetworks(texts)).toEqual({
      problems: [{ at: undefined, problem: 'must have at most 100 addresses and networks' }],
    })
  expect(readNetworks(['x', '::1', '10.0.0.1/8'])).toMatchObject({ problems: [{ at: 0 }, { at: 2 }] })
})

test('an ApiKey with what the API server cannot reject is invalid, with the same reason', () => {
  const spec = apiKeySchema.shape.spec
  const problemsOf = (allowedIPs: readonly string[]) =>
    spec
      .safeParse({ organization: 'acme', allowedIPs })
      .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  expect(problemsOf(['10.0.0.0/8', '::1'])).toBeUndefined()
  expect(problemsOf(['10.0.0.0/8', '10.0.0.1/8'])?.join()).toMatch(
    /^allowedIPs\.1: must be 10\.0\.0\.0\/8, or/,
  )
  for (const text of ['10.0.0.0/33', '1.2.3', 'x'])
    expect(problemsOf([text])).toEqual([`allowedIPs.0: ${networkProblem}`])
})

/** An address as the number that its bits are. */
function numberOf(address: string): bigint {
  if (isIP(address) === 4) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
  const [head = '', tail] = address.split('::')
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const [first, last] = [groups(head), groups(tail ?? '')]
  const zeros = new Array<string>(8 - first.length - last.length).fill('0')
  return [...first, ...zeros, ...last].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n)
}

/** Few different ones, so that they meet. */
const v4 = fc
  .array(fc.constantFrom(0, 1, 127, 128, 255), { minLength: 4, maxLength: 4 })
  .map((parts) => parts.join('.'))
const v6 = fc
  .array(fc.constantFrom('0', '1', '2001', 'db8', 'FFFF', '8000'), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.join(':'))
const network = fc.tuple(fc.oneof(v4, v6), fc.nat(128)).map(([address, bits]) => {
  const written = `${address}/${isIP(address) === 4 ? bits % 33 : bits}`
  const read = readNetwork(written)
  // What it should have been, where bits after the prefix are set.
  const [, meant] = /^must be (\S+),/.exec('problem' in read ? read.problem : '') ?? []
  return meant ?? written
})

test('whatever is read is read again as itself', () => {
  fc.assert(
    fc.property(fc.oneof(network, v4, v6, fc.string()), (text) => {
      const read = readNetwork(text)
      if ('network' in read) expect(readNetwork(read.network)).toEqual(read)
      else expect(read.problem).toContain('must be')
    }),
  )
})

test('an address is in a list if and only if its first bits are those of one of the networks', () => {
  fc.assert(
    fc.property(fc.array(network, { minLength: 1, maxLength: 8 }), fc.oneof(v4, v6), (texts, asked) => {
      const networks = texts.flatMap((text) => {
        const read = readNetwork(text)
        return 'network' in read ? [read.network] : []
      })
      const plain = readNetwork(asked)
      if (!('network' in plain)) throw new Error(`${asked} is no address`)
      const expected = networks.some((text) => {
        const [address = '', bits] = text.split('/')
        const longest = isIP(address) === 4 ? 32 : 128
        const shift = BigInt(longest - Number(bits ?? longest))
        return (
          isIP(address) === isIP(plain.network) &&
          numberOf(address) >> shift === numberOf(plain.network) >> shift
        )
      })
      expect(createAllowedNetworks(networks).has(plain.network)).toBe(expected)
    }),
    { numRuns: 2_000 },
  )
})
