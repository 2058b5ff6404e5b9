import { expect, test } from 'vitest'
import { createNetworks, isCidr } from './networks.ts'

test('networks hold their addresses and no others', () => {
  const networks = createNetworks(['185.71.76.0/27', '77.75.156.11', '2a02:5180::/32'])
  for (const inside of ['185.71.76.31', '77.75.156.11', '2a02:5180:1::1'])
    expect(networks.has(inside)).toBe(true)
  for (const outside of ['185.71.76.32', '77.75.156.12', '2a02:5181::1', '', 'x'])
    expect(networks.has(outside)).toBe(false)
})

test('a range is an address and its bits', () => {
  for (const good of ['10.0.0.0/8', '::/0', 'fd00::/128', '1.2.3.4/32']) expect(isCidr(good), good).toBe(true)
  for (const bad of ['10.0.0.0', '10.0.0.0/33', '::/129', 'x/8', '10.0.0.0/8/8', '10.0.0.0/', '/8', '10/8'])
    expect(isCidr(bad), bad).toBe(false)
})
