import { DatabaseError } from 'pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { logOptions } from './log-options.ts'

function lineOf(facts: object): string {
  let line = ''
  pino(logOptions, { write: (text) => (line += text) }).error(facts, 'failed')
  return line
}

test('an error of Postgres is logged without the row that it quotes', () => {
  const error = new DatabaseError(
    'duplicate key value violates unique constraint "users_lower_idx"',
    1,
    'error',
  )
  error.code = '23505'
  error.constraint = 'users_lower_idx'
  error.detail = 'Key (lower(email))=(anna@example.com) already exists.'
  error.where = 'COPY users, line 1: "anna@example.com"'
  const line = lineOf({ requestId: 'r', err: error })
  expect(line).not.toContain('anna@example.com')
  for (const told of ['23505', 'users_lower_idx', 'log-options.test.ts', '"requestId":"r"'])
    expect(line).toContain(told)
})

test.each(['authorization', 'cookie', 'set-cookie', 'password', 'token', 'secret', 'email'])(
  'whatever is called %s is not logged, neither by itself nor within something',
  (name) => {
    const line = lineOf({ [name]: 'anna@example.com', headers: { [name]: 'anna@example.com' } })
    expect(line).not.toContain('anna@example.com')
  },
)
