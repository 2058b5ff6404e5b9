import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

/** Takes all, in order. */
function takeAll(turns: ReturnType<typeof createTurns<string>>): string[] {
  const taken: string[] = []
  for (let item = turns.take(); item !== undefined; item = turns.take()) taken.push(item)
  return taken
}

test('groups take turns, and within one the first to come leaves first', () => {
  const turns = createTurns<string>()
  for (const id of ['1', '2', '3', '4']) turns.add('long', id, `long ${id}`)
  turns.add('short', '1', 'short 1')
  turns.add('other', '1', 'other 1')
  expect(turns.size).toBe(6)
  expect(takeAll(turns)).toEqual(['long 1', 'short 1', 'other 1', 'long 2', 'long 3', 'long 4'])
  expect(turns.size).toBe(0)
})

test('a group that comes back after its turn waits for the others', () => {
  const turns = createTurns<string>()
  for (const id of ['1', '2']) turns.add('a', id, `a ${id}`)
  turns.add('b', '1', 'b 1')
  expect(turns.take()).toBe('a 1')
  turns.add('a', '1', 'a 1 again')
  expect(takeAll(turns)).toEqual(['b 1', 'a 2', 'a 1 again'])
})

test('a group whose first item stays is passed over, and keeps its turn', () => {
  const turns = createTurns<string>()
  turns.add('a', '1', 'a 1')
  turns.add('b', '1', 'b 1')
  expect(turns.take((item) => item === 'a 1')).toBe('b 1')
  expect(turns.take((item) => item === 'a 1')).toBeUndefined()
  expect(turns.take()).toBe('a 1')
})

test('an item that is added again waits at the end, and a deleted one is gone', () => {
  const turns = createTurns<string>()
  for (const id of ['1', '2', '3']) turns.add('a', id, id)
  turns.add('a', '1', '1 again')
  turns.delete('a', '2')
  turns.delete('a', 'never there')
  expect([turns.find('a', '1'), turns.find('a', '2'), turns.size]).toEqual(['1 again', undefined, 2])
  expect(takeAll(turns)).toEqual(['3', '1 again'])
})

test('in a group, what came as later leaves last, and takes no turn from other groups', () => {
  const turns = createTurns<string>()
  turns.add('a', '1', 'a 1', 'later')
  turns.add('a', '2', 'a 2', 'later')
  turns.add('b', '1', 'b 1')
  turns.add('a', '3', 'a 3')
  turns.add('a', '2', 'a 2 now')
  expect(takeAll(turns)).toEqual(['a 3', 'b 1', 'a 2 now', 'a 1'])
})
