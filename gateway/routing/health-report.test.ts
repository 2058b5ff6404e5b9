import { expect, test } from 'vitest'
import type { Trouble } from '#core/catalog/gateway-report'
import { type DeploymentHealth, healthReportOf } from './health-report.ts'

const deployment = (provider: string, model: string, trouble: Trouble | null, providerAnswers = false) => ({
  provider,
  model,
  isRecovering: trouble !== null,
  trouble,
  providerAnswers,
})

const unhealthyAmong = (deployments: readonly DeploymentHealth[]) => healthReportOf(deployments, []).unhealthy

test('one unhealthy model of many does not make its provider unhealthy', () => {
  expect(
    unhealthyAmong([deployment('a', 'x', 'failed'), deployment('a', 'y', null), deployment('b', 'x', null)]),
  ).toEqual({
    'a x': 'failed',
  })
})

test('a provider is unhealthy when all its models are, or when its failure spares none of them', () => {
  expect(
    unhealthyAmong([
      deployment('all', 'x', 'failed'),
      deployment('all', 'y', 'timeout'),
      deployment('key', 'x', 'unauthorized'),
      deployment('key', 'y', null),
    ]),
  ).toEqual({
    all: 'failed',
    'all x': 'failed',
    'all y': 'timeout',
    key: 'unauthorized',
    'key x': 'unauthorized',
  })
})

test('a provider that has answered well since is not unhealthy for one deployment, whatever fails there', () => {
  expect(
    unhealthyAmong([deployment('key', 'x', 'unauthorized', true), deployment('key', 'y', null)]),
  ).toEqual({
    'key x': 'unauthorized',
  })
  expect(
    unhealthyAmong([
      deployment('key', 'x', 'unauthorized', true),
      deployment('key', 'y', 'unreachable', false),
    ]),
  ).toMatchObject({ key: 'unreachable' })
})
