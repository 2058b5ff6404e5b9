import { describe, expect, test } from 'vitest'
import { createAddressGuard } from './address-guard.ts'

const everything = ['0.0.0.0/0', '::/0']
const open = createAddressGuard(everything)
const none = createAddressGuard([])
const some = createAddressGuard(['127.0.0.0/8', '10.1.0.0/16', 'fd12::/16'])
const asked = { privateAddresses: true }
const notAsked = { privateAddresses: false }

describe('a provider may be called', () => {
  test.each(['1.1.1.1', '93.184.216.34', '2606:4700:4700::1111', '64:ff9b::101:101', '2002:101:101::1'])(
    'at a public address: %s',
    (address) => {
      expect(none(address, notAsked)).toBe(true)
    },
  )

  test.each([
    ['127.0.0.1', '127.255.255.254', '::ffff:127.0.0.1', '::ffff:7f00:1', '::7f00:1'],
    ['10.1.2.3', '::ffff:10.1.2.3', '64:ff9b::10.1.2.3', '64:ff9b:1::a01:203', '2002:a01:203::1'],
    ['fd12::1', 'FD12:0:0:0::1'],
  ])('at an address that it asks for and the installation allows: %s …', (...addresses) => {
    for (const address of addresses) {
      expect(some(address, asked), address).toBe(true)
      expect(some(address, notAsked), address).toBe(false)
      expect(none(address, asked), address).toBe(false)
    }
  })
})

describe('a provider may not be called, unless it asks and the installation allows it,', () => {
  test.each([
    ['10.2.0.1', '10.0.0.0/8'],
    ['172.16.0.1', ''],
    ['172.31.255.255', ''],
    ['192.168.1.1', ''],
    ['100.64.0.1', 'CGNAT'],
    ['169.254.1.1', 'link-local'],
    ['198.18.0.1', 'benchmark'],
    ['::1', 'loopback'],
    ['fc00::1', 'unique local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'with a zone'],
    ['fec0::1', 'site-local'],
    ['::ffff:192.168.1.1', 'mapped'],
    ['0:0:0:0:0:ffff:c0a8:101', 'mapped, written out'],
    ['::ffff:0:192.168.1.1', 'translated'],
    ['64:ff9b::c0a8:101', 'NAT64'],
    ['2002:c0a8:101::', '6to4'],
    ['::192.168.1.1', 'compatible'],
  ])('at %s %s', (address) => {
    expect(some(address, asked)).toBe(false)
    expect(open(address, notAsked)).toBe(false)
    expect(open(address, asked)).toBe(true)
  })
})

describe('nothing allows', () => {
  test.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '169.254.170.2',
    '169.254.170.23',
    '168.63.129.16',
    '100.100.100.200',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd00:0ec2:0:0:0:0:0:254',
    'fe80::a9fe:a9fe',
    'fe80::a9fe:a9fe%2',
    '0.0.0.0',
    '0.1.2.3',
    '::',
    '::ffff:0.0.0.0',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    'localhost',
    '0x7f000001',
    '2130706433',
    '',
  ])('%j', (address) => {
    expect(open(address, asked)).toBe(false)
  })
})
