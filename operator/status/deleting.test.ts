import { expect, test } from 'vitest'
import { deleting } from './deleting.ts'

const readyOf = (...finalizers: readonly string[]) => deleting({ metadata: { name: 'x', finalizers } })

test('an object that is being deleted names at most five finalizers that it waits for', () => {
  expect(readyOf()).toEqual({ status: 'False', reason: 'Deleting', message: 'This object is being deleted' })
  expect(readyOf('a/1', 'b/2').message).toBe(
    'This object is being deleted. It waits for its finalizers: a/1, b/2',
  )
  expect(readyOf('1', '2', '3', '4', '5').message).toMatch(/: 1, 2, 3, 4, 5$/)
  expect(readyOf('1', '2', '3', '4', '5', '6', '7').message).toMatch(/: 1, 2, 3, 4, 5, 2 more$/)
})
