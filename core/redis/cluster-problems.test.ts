import { expect, test } from 'vitest'
import { problemsOf } from './cluster-problems.ts'
import { parseClusterNodes } from './cluster-view.ts'

const [a, b] = ['a'.repeat(40), 'b'.repeat(40)]
const good =
  'valkey_version:9.1.2\r\nrole:master\r\nslave0:ip=10.0.0.9,port=6379,state=online,offset=1,lag=0\r\n'

const report = (server: string, info: string, ...lines: readonly string[]) => ({
  view: { server, nodes: parseClusterNodes(lines.join('\n'), server) },
  info,
})

const ofA = (info: string, flagsOfB = 'master') =>
  report(
    '10.0.0.1:6379',
    info,
    `${a} 10.0.0.1:6379@1 myself,master - 0 0 1 connected 0-8191`,
    `${b} 10.0.0.2:6379@1 ${flagsOfB} - 0 0 2 connected 8192-16383`,
  )
const ofB = (info: string, ...slots: readonly string[]) =>
  report(
    '10.0.0.2:6379',
    info,
    `${a} 10.0.0.1:6379@1 master - 0 0 1 connected 0-8191`,
    `${b} 10.0.0.2:6379@1 myself,master - 0 0 2 connected ${slots.join(' ')}`,
  )

const all = { unreachable: 0, slots: 16_384 }
const none = { uncovered_slots: 0, no_synced_replica: 0, unreachable_primary: 0, unsupported_version: 0 }

test('a whole cluster with replicas has no problem, and one server has none', () => {
  expect(problemsOf([ofA(good), ofB(good, '8192-16383')], all)).toEqual(none)
  expect(problemsOf([], { unreachable: 0, slots: 0 })).toEqual(none)
})

test('slots of a primary that failed, and slots without a primary or leaving it by SETSLOT, are uncovered', () => {
  expect(problemsOf([ofA(good, 'master,fail')], { ...all, unreachable: 1 })).toEqual({
    ...none,
    uncovered_slots: 8_192,
    unreachable_primary: 1,
  })
  expect(problemsOf([ofB(good, '8193-16383', `[9000->-${a}]`)], all)).toMatchObject({ uncovered_slots: 2 })
  expect(problemsOf([], { ...all, unreachable: 3 })).toMatchObject({ uncovered_slots: 16_384 })
})

test('a primary whose replica has not its data, and one of an old version, are counted', () => {
  const syncing = good.replace('state=online', 'state=wait_bgsave')
  const old = good.replace('9.1.2', '8.1.0')
  expect(problemsOf([ofA(syncing), ofB(old, '8192-16383')], all)).toEqual({
    ...none,
    no_synced_replica: 1,
    unsupported_version: 1,
  })
})

test('a primary without slots needs no replica', () => {
  const joined = report(
    '10.0.0.3:6379',
    'valkey_version:9.1.2',
    `${a} 10.0.0.3:6379@1 myself,master - 0 0 3 connected`,
  )
  expect(problemsOf([ofA(good), ofB(good, '8192-16383'), joined], all)).toEqual(none)
})
