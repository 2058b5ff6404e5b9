import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const env = { DATABASE_URL: 'postgres://localhost/x', WEBHOOK_SECRET: 's'.repeat(32) }

test('one secret opens it, or two during a rotation', () => {
  expect(readConfig(env).secrets).toHaveLength(1)
  expect(readConfig({ ...env, WEBHOOK_SECRET: `${'a'.repeat(32)},${'b'.repeat(32)}` }).secrets).toHaveLength(
    2,
  )
})

test.each(['', ',', 'short', `${'a'.repeat(32)},short`, [1, 2, 3].map((n) => `${n}`.repeat(32)).join()])(
  'it does not start with the secret %j, and does not repeat it',
  (WEBHOOK_SECRET) => {
    const start = () => readConfig({ ...env, WEBHOOK_SECRET })
    expect(start).toThrow('WEBHOOK_SECRET')
    if (WEBHOOK_SECRET.length > 1) expect(start).not.toThrow(WEBHOOK_SECRET)
  },
)

test('without a list, the published networks of the provider may call', () => {
  expect(readConfig(env).allowed).toContain('2a02:5180::/32')
})
