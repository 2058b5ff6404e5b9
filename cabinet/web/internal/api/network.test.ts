import { expect, test } from 'vitest'
import { plainAddress } from '#core/process/plain-address'
import { networkOf } from './network.ts'

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::FFFF:203.0.113.9', '203.0.113.9'],
  ['::ffff:cb00:7109', '203.0.113.9'],
  ['0:0:0:0:0:FFFF:203.0.113.9', '203.0.113.9'],
  ['::ffff:0:0', '0.0.0.0'],
  ['::ffff:0:cb00:7109', '::ffff:0:cb00:7109'],
  ['2001:db8::ffff:cb00:7109', '2001:db8::ffff:cb00:7109'],
  ['::cb00:7109', '::cb00:7109'],
  ['fe80::1%eth0', 'fe80::1'],
  ['no: address', 'no: address'],
])('%s is written %s', (address, expected) => {
  expect(plainAddress(address)).toBe(expected)
})

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('%s is counted as %s', (address, expected) => {
  expect(networkOf(address)).toBe(expected)
})
