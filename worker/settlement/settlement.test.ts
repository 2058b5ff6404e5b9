import { ReplyError } from 'ioredis'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { RedisUnavailable } from '#core/redis/redis-connection'
import { isOfOneShard } from './settlement.ts'

const ofPostgres = (code: string) => Object.assign(new DatabaseError('no', 2, 'error'), { code })

test('a failure that may concern only one shard keeps no other waiting', () => {
  for (const code of ['22003', '23503', '40001', '55P03', '57014', 'XX001'])
    expect(isOfOneShard(ofPostgres(code)), code).toBe(true)
  expect(isOfOneShard(new ReplyError('WRONGTYPE'))).toBe(true)
})

test('a worker that Postgres or Redis lets in no more fails for every shard', () => {
  for (const code of ['08006', '28P01', '53300', '57P01', '57P03'])
    expect(isOfOneShard(ofPostgres(code)), code).toBe(false)
  expect(isOfOneShard(new RedisUnavailable('away'))).toBe(false)
  expect(isOfOneShard(new Error('Connection terminated'))).toBe(false)
})
