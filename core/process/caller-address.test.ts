import { expect, test } from 'vitest'
import { createNetworks } from '#core/process/networks'
import { callerAddress } from './caller-address.ts'

const proxies = createNetworks(['10.0.0.0/8', 'fd00::/8'])

test.each([
  ['a direct caller is who it is', '1.2.3.4', undefined, '1.2.3.4'],
  ['what a direct caller claims is not read', '1.2.3.4', '185.71.76.1', '1.2.3.4'],
  ['a proxy tells from whom it had the request', '10.0.0.1', '185.71.76.1', '185.71.76.1'],
  ['a caller cannot prepend himself', '10.0.0.1', '185.71.76.1, 6.6.6.6', '6.6.6.6'],
  ['proxies behind proxies', '10.0.0.1', '185.71.76.1, 10.0.0.2', '185.71.76.1'],
  ['a hop that is no address ends the walk', '10.0.0.1', '185.71.76.1, unknown', '10.0.0.1'],
  ['a proxy alone is a caller itself', '10.0.0.1', undefined, '10.0.0.1'],
  ['IPv4 within IPv6 is IPv4', '::ffff:10.0.0.1', '::ffff:185.71.76.1', '185.71.76.1'],
])('%s', (_, peer, forwardedFor, expected) => {
  expect(callerAddress(peer, forwardedFor, proxies)).toBe(expected)
})
