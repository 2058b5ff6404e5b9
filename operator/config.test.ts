import { expect, test } from 'vitest'
import { readConfig, watchedNamespaces } from './config.ts'

const needed = {
  OPERATOR_NAMESPACE: 'model-gateway',
  GATEWAY_BASE_URL: 'http://gateway.model-gateway/v1',
  DATABASE_URL: 'postgres://localhost/x',
  KEY_PEPPER: 'p'.repeat(32),
  CREDENTIALS_KEY: Buffer.alloc(32).toString('base64'),
}

test('what is needed and nothing else gives the defaults of the contract', () => {
  expect(readConfig(needed)).toMatchObject({
    namespaces: 'all',
    routesNamespaces: ['model-gateway'],
    clusterId: undefined,
    mirror: { routes: true, keys: true, keysMax: 5_000 },
    leaseTimes: { lengthMs: 4_000, renewDeadlineMs: 3_000, retryMs: 400 },
    resyncMs: 600_000,
    secretPollMs: 1_500,
    probesPort: 8081,
    metricsPort: 8080,
  })
})

test('namespaces are a list or all of them, and a mirror can be switched off', () => {
  const config = readConfig({
    ...needed,
    OPERATOR_NAMESPACES: 'team-a, team-b',
    OPERATOR_ROUTES_NAMESPACES: '*',
    OPERATOR_MIRROR_KEYS: 'false',
  })
  expect(config.namespaces).toEqual(['team-a', 'team-b'])
  expect(config.routesNamespaces).toBe('all')
  expect(config.mirror.keys).toBe(false)
})

test('limiting ApiKeys to some namespaces hides neither mirrors nor the routes that count', () => {
  const watched = (env: object) => watchedNamespaces(readConfig({ ...needed, ...env }))
  const all = { apiKeys: 'all', routesAndProviders: 'all' }
  expect(watched({})).toEqual(all)
  expect(watched({ OPERATOR_NAMESPACES: 'team-a' })).toEqual({
    apiKeys: ['team-a', 'model-gateway'],
    routesAndProviders: ['team-a', 'model-gateway'],
  })
  expect(watched({ OPERATOR_NAMESPACES: 'team-a', OPERATOR_ROUTES_NAMESPACES: 'models,team-a' })).toEqual({
    apiKeys: ['team-a', 'model-gateway'],
    routesAndProviders: ['team-a', 'model-gateway', 'models'],
  })
  expect(watched({ OPERATOR_NAMESPACES: 'team-a', OPERATOR_ROUTES_NAMESPACES: '*' })).toEqual({
    ...all,
    apiKeys: ['team-a', 'model-gateway'],
  })
})

test.each([
  [{ OPERATOR_LEASE_MS: '3000' }, 'OPERATOR_RENEW_DEADLINE_MS: must be less than OPERATOR_LEASE_MS'],
  [{ OPERATOR_RENEW_DEADLINE_MS: '4000' }, 'OPERATOR_RENEW_DEADLINE_MS: must be less than OPERATOR_LEASE_MS'],
  [{ OPERATOR_RETRY_MS: '1501' }, 'OPERATOR_RETRY_MS: must be at most half of OPERATOR_RENEW_DEADLINE_MS'],
])('times of a Lease that would let two lead, or nobody for long, are refused: %o', (env, problem) => {
  expect(() => readConfig({ ...needed, ...env })).toThrow(problem)
})

test.each([
  'https://gw.example',
  'https://gw.example/v1/',
  'https://gw.example/v12',
  'https://gw.example/?a=/v1',
])('a base URL that would send clients to a 404 is refused: %s', (url) => {
  expect(() => readConfig({ ...needed, GATEWAY_BASE_URL: url })).toThrow(
    'GATEWAY_BASE_URL: must end with /v1, such as https://gateway.example/v1: clients add /chat/completions to it',
  )
})

test('every wrong variable is named at once, without its value', () => {
  const env = {
    ...needed,
    OPERATOR_NAMESPACE: '',
    OPERATOR_NAMESPACES: 'Team_A',
    KEY_PEPPER: 'hunter2',
    OPERATOR_METRICS_PORT: 'eighty',
    UPSTREAM_ALLOWED_CIDRS: '10.0.0.0/99',
  }
  const failed = () => readConfig(env)
  expect(failed).toThrow(
    /OPERATOR_NAMESPACE: is not set\n +OPERATOR_NAMESPACES: .+\n +KEY_PEPPER: .+\n +UPSTREAM_ALLOWED_CIDRS: .+\n +OPERATOR_METRICS_PORT: .+$/,
  )
  expect(failed).not.toThrow(/hunter2|eighty/)
})
