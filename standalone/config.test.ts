import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

test('an address that is none of a Postgres or a Redis is named before anything is started', () => {
  const start = () => readConfig({ DATABASE_URL: 'mysql://localhost/x', REDIS_URL: 'localhost:6379' }, [])
  expect(start).toThrow(/DATABASE_URL: must be a postgres:.+\n +REDIS_URL: must be a redis:/)
  const own = { DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost:6379' }
  expect(readConfig(own, [])).toMatchObject({ databaseUrl: own.DATABASE_URL, redisUrl: own.REDIS_URL })
})

test('a new organization has 1,000 rubles, or the configured amount, and never less than none', () => {
  const balance = (said: string) => readConfig({ STANDALONE_BALANCE_RUB: said }, []).openingBalance
  expect([balance(''), balance('0.50')]).toEqual([1_000_000_000_000n, 500_000_000n])
  expect(() => balance('-1')).toThrow('STANDALONE_BALANCE_RUB: must be an amount in rubles')
})

test('gateway and cabinet listen at the configured addresses, and by default for this machine only', () => {
  expect(readConfig({}, [])).toMatchObject({ gatewayHost: '127.0.0.1', cabinetHost: '127.0.0.1' })
  const open = readConfig({ GATEWAY_HOST: '0.0.0.0', CABINET_HOST: '::' }, [])
  expect(open).toMatchObject({ gatewayHost: '0.0.0.0', cabinetHost: '::' })
})
