import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { PostgresUnavailable } from '#core/db/availability'
import { databaseRefusal } from './database-refusal.ts'

function errorOf(code: string): DatabaseError {
  return Object.assign(new DatabaseError('why', 0, 'error'), { code })
}

test.each(['22021', '23514', '54001'])('%s is told: asking again would not help', (code) => {
  expect(databaseRefusal(errorOf(code))).toEqual({
    status: 'False',
    reason: 'DatabaseRefused',
    message: `The database rejected this object: why (SQLSTATE ${code})`,
  })
})

test.each(['08006', '40001', '42P01', '53300', '57014'].map(errorOf))(
  '%o says nothing of the object',
  (error) => {
    expect(databaseRefusal(error)).toBeUndefined()
    expect(databaseRefusal(new PostgresUnavailable({ cause: error }))).toBeUndefined()
  },
)
