import { expect, test } from 'vitest'
import { z } from 'zod'
import { portSetting, postgresUrlSetting, readEnvironment, secretSetting } from './environment.ts'

const schema = z.object({
  DATABASE_URL: postgresUrlSetting,
  KEY_PEPPER: secretSetting,
  PORT: portSetting.default(3000),
})
const good = { DATABASE_URL: 'postgres://localhost/x', KEY_PEPPER: 'p'.repeat(32) }

test('an empty variable is one that is not set', () => {
  expect(readEnvironment('the cabinet', schema, { ...good, PORT: '' })).toEqual({ ...good, PORT: 3000 })
  expect(() => readEnvironment('the cabinet', schema, { ...good, KEY_PEPPER: '' })).toThrow(
    'The settings of the cabinet are wrong:\n  KEY_PEPPER: is not set',
  )
})

test('every wrong variable is named at once, and no value is said', () => {
  const failed = () =>
    readEnvironment('the cabinet', schema, {
      DATABASE_URL: 'http://user:hunter2@example.com',
      KEY_PEPPER: 'c2hvcnQ=',
      PORT: 'eighty',
    })
  expect(failed).toThrow(/DATABASE_URL: must be .+\n +KEY_PEPPER: must have .+\n +PORT: /)
  expect(failed).not.toThrow(/hunter2|c2hvcnQ|eighty/)
})
