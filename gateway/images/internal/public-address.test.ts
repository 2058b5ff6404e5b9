import { expect, test } from 'vitest'
import { isPublicAddress } from './public-address.ts'

test.each(['1.1.1.1', '93.184.216.34', '2606:4700:4700::1111', '2a00:1450::1', '64:ff9b::101:101'])(
  '%s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true)
  },
)

test.each([
  ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', 'fc00::1', 'fd12::1'],
  ['link-local', '169.254.1.1', 'fe80::1', 'fe80::1%eth0', 'fec0::1'],
  ['metadata', '169.254.169.254', '168.63.129.16', '100.100.100.200', 'fd00:ec2::254'],
  ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
  ['multicast or reserved', '224.0.0.1', '240.0.0.1', '255.255.255.255', 'ff02::1', '198.18.0.1'],
  ['documentation', '192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  ['mapped', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:1.1.1.1'],
  ['compatible or translated', '::127.0.0.1', '::7f00:1', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::101:101', '64:ff9b:1:7f00:0:100::'],
  ['6to4 or Teredo', '2002:7f00:1::', '2002:101:101::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['no address', '', 'localhost', '0x7f000001', '2130706433', '127.1'],
])('not public: %s', (_what, ...addresses) => {
  for (const address of addresses) expect(isPublicAddress(address), address).toBe(false)
})
