import { expect, test } from 'vitest'
import type { Trouble } from '#cabinet/catalogue/gateway-report'
import { unhealthyOf } from './unhealthy.ts'

const place = (provider: string, model: string, trouble: Trouble | null, providerAnswers = false) => ({
  provider,
  model,
  isResting: trouble !== null,
  trouble,
  providerAnswers,
})

test('one sick model of many does not make its provider sick', () => {
  expect(unhealthyOf([place('a', 'x', 'failed'), place('a', 'y', null), place('b', 'x', null)])).toEqual({
    'a x': 'failed',
  })
})

test('a provider is sick when all its models are, or when its trouble spares none of them', () => {
  expect(
    unhealthyOf([
      place('all', 'x', 'failed'),
      place('all', 'y', 'timeout'),
      place('key', 'x', 'unauthorized'),
      place('key', 'y', null),
    ]),
  ).toEqual({
    all: 'failed',
    'all x': 'failed',
    'all y': 'timeout',
    key: 'unauthorized',
    'key x': 'unauthorized',
  })
})

test('a provider that has answered well since is not sick for one place, whatever the trouble there', () => {
  expect(unhealthyOf([place('key', 'x', 'unauthorized', true), place('key', 'y', null)])).toEqual({
    'key x': 'unauthorized',
  })
  expect(
    unhealthyOf([place('key', 'x', 'unauthorized', true), place('key', 'y', 'unreachable', false)]),
  ).toMatchObject({ key: 'unreachable' })
})
