import { expect, test } from 'vitest'
import { checkerOf } from './checker-of.ts'

const gateways = ['a', 'b', 'c', 'd']
const providers = Array.from({ length: 400 }, (_, n) => `p${n}`)

test('a provider has one checker, whatever the order in which the gateways are known', () => {
  for (const provider of providers)
    expect(checkerOf(provider, gateways)).toBe(checkerOf(provider, gateways.toReversed()))
  expect(checkerOf('p', [])).toBeUndefined()
})

test('gateways share the work, and one that leaves changes nothing about what the others check', () => {
  const checkers = providers.map((provider) => checkerOf(provider, gateways))
  for (const gateway of gateways)
    expect(checkers.filter((each) => each === gateway).length).toBeGreaterThan(60)
  const left = providers.map((provider) => checkerOf(provider, ['a', 'b', 'c']))
  expect(left.filter((each, n) => checkers[n] !== 'd' && each !== checkers[n])).toEqual([])
})
