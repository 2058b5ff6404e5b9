import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const env = {
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost:6379',
  ROUTES_SIGNING_KEY: 's'.repeat(32),
}

test('a mail server and a sender are set together, or neither', () => {
  const server = { SMTP_URL: 'smtp://mail.example.com' }
  const from = { MAIL_FROM: 'no-reply@example.com' }
  expect(readConfig(env).mail).toBeUndefined()
  expect(readConfig({ ...env, ...server, ...from }).mail).toMatchObject({ server: { port: 587 } })
  expect(() => readConfig({ ...env, ...server })).toThrow(/MAIL_FROM: is not set$/)
  expect(() => readConfig({ ...env, ...from })).toThrow(/SMTP_URL: is not set$/)
})
