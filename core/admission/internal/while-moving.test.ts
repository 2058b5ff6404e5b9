import { expect, test } from 'vitest'
import { RedisUnavailable } from '../../redis/redis-connection.ts'
import type { Shard } from '../../redis/shard.ts'
import { whileMoving } from './while-moving.ts'

const shard = 7 as Shard
const notRun = new RedisUnavailable('MOVED', 'no')

/** A call that ends like this, one end after the other, and how often it was sent. */
function calling(...ends: readonly (string | RedisUnavailable)[]) {
  const calls = { count: 0 }
  const call = async () => {
    const end = ends[calls.count++]
    if (end instanceof RedisUnavailable || end === undefined) throw end
    return end
  }
  return { calls, call }
}

const moving = { kind: () => 'cluster' as const, isMoving: () => true }
const still = { kind: () => 'cluster' as const, isMoving: () => false }

test('a call that has not run is sent again while its shard moves, also one that found it closed', async () => {
  const { call, calls } = calling(notRun, 'closed', 'done')
  expect(await whileMoving(moving, shard, call, (answer) => answer === 'closed')).toBe('done')
  expect(calls.count).toBe(3)
})

test('a call that may have run, or whose shard does not move, is sent once', async () => {
  const mayHaveRun = calling(new RedisUnavailable('no answer', 'yes'), 'done')
  await expect(whileMoving(moving, shard, mayHaveRun.call)).rejects.toThrow(RedisUnavailable)
  const outage = calling(notRun, 'done')
  await expect(whileMoving(still, shard, outage.call)).rejects.toThrow(notRun)
  const closed = calling('closed', 'done')
  expect(await whileMoving(still, shard, closed.call, (answer) => answer === 'closed')).toBe('closed')
  expect([mayHaveRun, outage, closed].map(({ calls }) => calls.count)).toEqual([1, 1, 1])
})
