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
  ['a caller behind a hop that is no address is unknown', '10.0.0.1', '185.71.76.1, unknown', ''],
  ['a caller behind an empty hop is unknown', '10.0.0.1', '185.71.76.1,', ''],
  ['a caller whom a proxy does not name is unknown', '10.0.0.1', undefined, ''],
  ['a caller behind proxies only is unknown', '10.0.0.1', '10.0.0.3, 10.0.0.2', ''],
  ['an IPv4 hop may have a port', '10.0.0.1', '6.6.6.6, 185.71.76.1:51234', '185.71.76.1'],
  ['an IPv6 hop may have a port', '10.0.0.1', '6.6.6.6, [2001:db8::1]:443', '2001:db8::1'],
  ['an IPv6 hop may have brackets', '10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
  ['a proxy with a port is still a proxy', '10.0.0.1', '185.71.76.1:1, 10.0.0.2:2', '185.71.76.1'],
  ['a port that is none makes a hop unreadable', '10.0.0.1', '185.71.76.1:x', ''],
  ['IPv4 within IPv6 is IPv4', '::ffff:10.0.0.1', '::ffff:185.71.76.1', '185.71.76.1'],
])('%s', (_, peer, forwardedFor, expected) => {
  expect(callerAddress(peer, forwardedFor, proxies)).toBe(expected)
})
