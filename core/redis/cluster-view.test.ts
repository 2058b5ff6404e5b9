import { expect, test } from 'vitest'
import { type ClusterPlan, parseClusterNodes, planCluster } from './cluster-view.ts'

const a = 'a'.repeat(40)
const b = 'b'.repeat(40)
const c = 'c'.repeat(40)

function viewOf(server: string, ...lines: readonly string[]) {
  return { server, nodes: parseClusterNodes(`${lines.join('\n')}\n`, server) }
}

function ownerOf(plan: ClusterPlan, slot: number): string | undefined {
  if (plan.outcome === 'rejected') throw new Error(plan.why)
  return plan.ownerOf(slot)?.server
}

test('each slot is found at its primary, by host name where one is announced, also with IPv6', () => {
  const plan = planCluster([
    viewOf(
      '10.0.0.1:6379',
      `${a} :6379@16379 myself,master - 0 0 1 connected 0-99 200`,
      `${b} 10.0.0.2:6380@16380,redis-1.example master - 0 0 2 connected 100-199`,
      `${c} fd00::3:6381@16381,,shard-id=x master - 0 0 3 connected 201-16383`,
      `${'d'.repeat(40)} 10.0.0.4:6379@16379 slave ${a} 0 0 1 connected`,
    ),
  ])
  expect([0, 99, 200, 100, 199, 201].map((slot) => ownerOf(plan, slot))).toEqual([
    '10.0.0.1:6379',
    '10.0.0.1:6379',
    '10.0.0.1:6379',
    'redis-1.example:6380',
    'redis-1.example:6380',
    '[fd00::3]:6381',
  ])
})

test('a primary that was frozen or cut off during a failover gets none of its slots back', () => {
  const old = viewOf(
    '10.0.0.1:6379',
    `${a} 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383`,
    `${b} 10.0.0.2:6379@16379 slave ${a} 0 0 1 connected`,
  )
  const present = viewOf(
    '10.0.0.2:6379',
    `${a} 10.0.0.1:6379@16379 master,fail - 0 0 1 disconnected`,
    `${b} 10.0.0.2:6379@16379 myself,master - 0 0 7 connected 0-16383`,
  )
  for (const views of [
    [old, present],
    [present, old],
  ])
    expect(ownerOf(planCluster(views), 5)).toBe('10.0.0.2:6379')
})

test('an uncovered slot and one in the old migration have no server', () => {
  const plan = planCluster([
    viewOf(
      '10.0.0.1:6379',
      `${a} 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-99 [7->-${b}] [9-<-${b}]`,
    ),
  ])
  expect([6, 7, 9, 100].map((slot) => ownerOf(plan, slot))).toEqual([
    '10.0.0.1:6379',
    undefined,
    '10.0.0.1:6379',
    undefined,
  ])
})

test('a single server among nodes of a cluster, and nodes of two clusters, are rejected with one sentence', () => {
  const one = viewOf('10.0.0.1:6379', `${a} 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383`)
  const other = viewOf('10.0.0.2:6379', `${b} 10.0.0.2:6379@16379 myself,master - 0 0 2 connected 0-16383`)
  expect(planCluster([one, { server: '10.0.0.3:6379', nodes: 'single' }])).toMatchObject({
    outcome: 'rejected',
    why: expect.stringContaining('10.0.0.3:6379 belongs to no cluster'),
  })
  expect(planCluster([one, other])).toMatchObject({
    outcome: 'rejected',
    why: expect.stringMatching(/two clusters.*10\.0\.0\.1:6379.*10\.0\.0\.2:6379/),
  })
})

test('a server that has not joined yet changes nothing', () => {
  const one = viewOf('10.0.0.1:6379', `${a} 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383`)
  const fresh = viewOf('10.0.0.9:6379', `${c} :6379@16379 myself,master - 0 0 0 connected`)
  expect(ownerOf(planCluster([fresh, one]), 0)).toBe('10.0.0.1:6379')
})

const [ofA, ofB, ofNone] = ['0-99', '100-16383', '']

/** The view of a, b or c, as `a` would be shown with these flags and slots. */
function viewsOf(slotsOfA: string, slotsOfB: string, flagsOfA = 'master') {
  const line = (id: string, port: number, self: string, flags: string, slots: string) =>
    `${id} 10.0.0.1:${port}@1 ${id === self ? 'myself,' : ''}${flags} - 0 0 ${port} connected ${slots}`
  const of = (self: string) => [line(a, 1, self, flagsOfA, slotsOfA), line(b, 2, self, 'master', slotsOfB)]
  return [viewOf('10.0.0.1:1', ...of(a)), viewOf('10.0.0.1:2', ...of(b))]
}

const yieldedBy = (views: ReturnType<typeof viewsOf>, slot: number) => {
  const plan = planCluster(views)
  return plan.outcome === 'found' ? plan.yieldedBy(slot) : plan.why
}

test('only a running primary that leaves a slot to its owner has handed it over', () => {
  expect(yieldedBy(viewsOf(ofA, ofB), 5)).toEqual(['10.0.0.1:2'])
  expect(yieldedBy(viewsOf(ofNone, '0-16383'), 5)).toEqual(['10.0.0.1:1'])
  // After a failover: it is a replica now, or does not know of it yet.
  expect(yieldedBy(viewsOf(ofNone, '0-16383', 'slave'), 5)).toEqual([])
  const [old] = viewsOf(ofA, ofB)
  const [, present] = viewsOf(ofNone, '0-16383')
  if (old === undefined || present === undefined) throw new Error('no views')
  expect(yieldedBy([old, present], 5)).toEqual([])
})

test('a slot that another primary imports by the old migration has no server, and primaries without slots are known', () => {
  const plan = planCluster([
    viewOf('10.0.0.1:6379', `${a} 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383`),
    viewOf(
      '10.0.0.2:6379',
      `${a} 10.0.0.1:6379@16379 master - 0 0 1 connected 0-16383`,
      `${b} 10.0.0.2:6379@16379 myself,master - 0 0 2 connected [7-<-${a}]`,
      `${c} 10.0.0.3:6379@16379 master,fail - 0 0 3 disconnected`,
    ),
  ])
  expect([6, 7].map((slot) => ownerOf(plan, slot))).toEqual(['10.0.0.1:6379', undefined])
  if (plan.outcome === 'rejected') throw new Error(plan.why)
  expect(plan.primaries.map(({ server }) => server)).toEqual(['10.0.0.1:6379', '10.0.0.2:6379'])
})
