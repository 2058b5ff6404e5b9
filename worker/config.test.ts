import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const env = {
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost:6379',
  ROUTES_SIGNING_KEY: 's'.repeat(32),
}

const clickHouse = { CLICKHOUSE_URL: 'https://user:secret@clickhouse.example:8443/requests' }

test('requests leave Postgres after 35 days or more, and only with an archive', () => {
  const kept = (days: string) =>
    readConfig({ ...env, ...clickHouse, REQUESTS_KEPT_DAYS: days }).requestsKeptDays
  expect([kept('35'), kept('400')]).toEqual([35, 400])
  for (const days of ['1', '34'])
    expect(() => kept(days)).toThrow(/REQUESTS_KEPT_DAYS: must be at least 35 days$/)
  for (const days of ['-40', '40.5', 'many'])
    expect(() => kept(days)).toThrow(/must be a whole number of days$/)
  const alone = () => readConfig({ ...env, REQUESTS_KEPT_DAYS: '40' })
  expect(alone).toThrow(
    /REQUESTS_KEPT_DAYS: must be unset without CLICKHOUSE_URL, because requests would be lost$/,
  )
})

test('a mail server and a sender are set together, or neither', () => {
  const server = { SMTP_URL: 'smtp://mail.example.com' }
  const from = { MAIL_FROM: 'no-reply@example.com' }
  expect(readConfig(env).mail).toBeUndefined()
  expect(readConfig({ ...env, ...server, ...from }).mail).toMatchObject({ server: { port: 587 } })
  expect(() => readConfig({ ...env, ...server })).toThrow(/MAIL_FROM: is not set$/)
  expect(() => readConfig({ ...env, ...from })).toThrow(/SMTP_URL: is not set$/)
})
