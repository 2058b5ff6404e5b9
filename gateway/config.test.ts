import { expect, test } from 'vitest'
import { BadEnvironment } from '#core/process/environment'
import { readConfig } from './config.ts'

const env = {
  REDIS_URL: 'redis://127.0.0.1:6379',
  KEY_PEPPER: 'p'.repeat(32),
  CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'),
  ROUTES_SIGNING_KEY: 's'.repeat(32),
}

function complaintAbout(changes: NodeJS.ProcessEnv): string {
  try {
    readConfig({ ...env, ...changes })
    return 'none'
  } catch (error) {
    if (error instanceof BadEnvironment) return error.message
    throw error
  }
}

test('secrets and Redis are enough; the rest has the defaults of the contract', () => {
  expect(readConfig(env)).toMatchObject({
    port: 8080,
    adminPort: 9090,
    http: { bodyBytesMax: 33_554_432 },
    bufferedChargesMax: 500_000,
  })
})

test('providers may be at no private address unless ranges are named', () => {
  expect(readConfig(env).upstreamAllowedCidrs).toEqual([])
  const named = readConfig({ ...env, UPSTREAM_ALLOWED_CIDRS: '10.0.0.0/8, fd00::/8' })
  expect(named.upstreamAllowedCidrs).toEqual(['10.0.0.0/8', 'fd00::/8'])
  expect(complaintAbout({ UPSTREAM_ALLOWED_CIDRS: '10.0.0.1' })).toContain(
    'UPSTREAM_ALLOWED_CIDRS: must be CIDR ranges',
  )
})

test('every wrong variable is named at once, and no value is printed', () => {
  const complaint = complaintAbout({
    REDIS_URL: 'http://user:hunter2@example.com',
    KEY_PEPPER: '',
    CREDENTIALS_KEY: 'c2hvcnQ=',
    ROUTES_SIGNING_KEY: undefined,
    GATEWAY_PORT: 'eighty',
  })
  for (const name of [
    'REDIS_URL',
    'KEY_PEPPER: is not set',
    'CREDENTIALS_KEY',
    'ROUTES_SIGNING_KEY: is not set',
    'GATEWAY_PORT',
  ])
    expect(complaint).toContain(name)
  expect(complaint).not.toMatch(/hunter2|c2hvcnQ|eighty/)
})
