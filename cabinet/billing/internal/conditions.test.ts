import { expect, test } from 'vitest'
import { allOf } from './conditions.ts'

test('conditions are numbered in their order, and those that do not apply leave no gap', () => {
  expect(allOf([['a = ?', 1], false, ['(b, c) < (?, ?)', 2, 3], ["d <> 'x'"]])).toEqual({
    sql: "a = $1 and (b, c) < ($2, $3) and d <> 'x'",
    values: [1, 2, 3],
  })
})
