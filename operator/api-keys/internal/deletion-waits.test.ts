import { expect, test } from 'vitest'
import { createDeletionWaits } from './deletion-waits.ts'

test('what a deletion waits for is new once, and is counted until it waits for something else or is gone', () => {
  const told: string[] = []
  const waits = createDeletionWaits((wait, count) => told.push(`${wait} ${count}`))
  expect(told.splice(0)).toEqual(['database 0', 'gateways 0', 'cluster 0'])
  expect(['a', 'a', 'b'].map((key) => waits.note(key, 'database'))).toEqual(['new', 'known', 'new'])
  expect(waits.note('a', 'cluster')).toBe('new')
  waits.note('a', undefined)
  waits.note('a', undefined)
  expect(waits.note('a', 'cluster')).toBe('new')
  expect(told).toEqual(['database 1', 'database 2', 'database 1', 'cluster 1', 'cluster 0', 'cluster 1'])
})
