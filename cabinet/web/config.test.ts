import { expect, test } from 'vitest'
import { readConfig as readWorkerConfig } from '#worker/config'
import { readConfig } from './config.ts'

const env = {
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost:6379',
  KEY_PEPPER: 'p'.repeat(32),
  ROUTES_SIGNING_KEY: 's'.repeat(32),
  CABINET_SEALING_KEY: Buffer.alloc(32, 1).toString('base64'),
  APP_URL: 'https://cabinet.example',
  GATEWAY_BASE_URL: 'https://gateway.example/v1',
}

test('LOG_LEVEL shows what web and worker log at debug, as for the other processes', () => {
  expect([readConfig(env).logLevel, readWorkerConfig(env).logLevel]).toEqual(['info', 'info'])
  const wordy = { ...env, LOG_LEVEL: 'debug' }
  expect([readConfig(wordy).logLevel, readWorkerConfig(wordy).logLevel]).toEqual(['debug', 'debug'])
})
