import { expect, test } from 'vitest'
import type { ClusterNode } from '#core/redis/cluster-view'
import { problemOf } from './cluster-check.ts'

const node: ClusterNode = {
  id: 'a',
  server: 'redis-0:6379',
  isSelf: true,
  isPrimary: true,
  epoch: 1,
  slots: [[0, 16_383]],
  migratingSlots: [],
  importingSlots: [],
  isFailing: false,
}
const good = {
  'cluster-require-full-coverage': 'no',
  'cluster-node-timeout': '2000',
  maxmemory: '1000',
  'maxmemory-policy': 'noeviction',
  appendonly: 'yes',
}
const valkey = 'redis_version:7.2.4\r\nvalkey_version:9.1.2\r\n'

const problemWith = (settings: object, info = valkey, nodes = [node]) =>
  problemOf(nodes, [{ server: node.server, info, settings: { ...good, ...settings } }], 6_000)

test('a supported cluster that loses nothing has no problem, also if it hides its settings', () => {
  expect(problemWith({})).toBeUndefined()
  expect(problemWith({}, 'redis_version:8.4.0\r\n')).toBeUndefined()
  expect(problemOf([node], [{ server: 'x', info: valkey, settings: {} }], 6_000)).toBeUndefined()
})

test.each([
  [{ 'cluster-require-full-coverage': 'yes' }, 'cluster-require-full-coverage yes'],
  [{ 'cluster-node-timeout': '6000' }, 'cluster-node-timeout 6000'],
  [{ 'maxmemory-policy': 'allkeys-lru' }, 'evicts data'],
  [{ appendonly: 'no' }, 'no append-only file'],
])('%j is rejected with one sentence that names the node', (settings, words) => {
  expect(problemWith(settings)).toMatch(new RegExp(`^redis-0:6379 .*${words}[^.]*\\.$`))
})

test('an unsupported version and uncovered slots are rejected', () => {
  expect(problemWith({}, 'redis_version:7.0.15\r\n')).toContain('runs Redis 7.0.15')
  expect(problemWith({}, 'redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n')).toContain('runs Valkey 8.1.0')
  expect(problemWith({}, valkey, [{ ...node, slots: [[0, 99]] }])).toContain('serves 100 of 16384 slots')
})
