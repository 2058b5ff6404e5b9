import { expect, test } from 'vitest'
import { parseClusterNodes, planCluster } from '../cluster-view.ts'
import { allShards, type Shard } from '../shard.ts'
import { createShardMoves } from './shard-moves.ts'

const shard = 7 as Shard
const slots = '0-16383'
const lookEveryMs = 250

/** A server whose run ends with `restart`; its port is also its id and epoch. */
function serverAt(port: number) {
  let run = 1
  return {
    port,
    runId: (): string | undefined => `${port}.${run}`,
    circuitIsOpen: () => false,
    restart: () => void run++,
  }
}

type Server = ReturnType<typeof serverAt>

/** What a process sees of servers, look by look. */
function watching() {
  const [p, q, replicaOfQ] = [serverAt(1), serverAt(2), serverAt(3)]
  const all = [p, q, replicaOfQ]
  let nowMs = 0
  let owner: Server = serverAt(0)
  let views: Parameters<typeof planCluster>[0] = []
  const moves = createShardMoves(() => nowMs)
  const hasYielded = (from: unknown) => {
    const plan = planCluster(views)
    const servers = plan.outcome === 'found' ? plan.yieldedBy(5) : []
    return all.some((server) => server === from && servers.includes(`10.0.0.1:${server.port}`))
  }
  /** One look: this primary has all slots, and these others run without any. */
  function see(present: Server, others: readonly Server[] = [], afterMs = lookEveryMs): void {
    nowMs += afterMs
    const line = ({ port }: Server, self: Server) =>
      `${port} 10.0.0.1:${port}@1 ${port === self.port ? 'myself,' : ''}master - 0 0 ${port} connected ${port === present.port ? slots : ''}`
    const seen = [present, ...others]
    views = seen.map((self) => {
      const server = `10.0.0.1:${self.port}`
      return { server, nodes: parseClusterNodes(seen.map((each) => line(each, self)).join('\n'), server) }
    })
    moves.note(
      allShards.map(() => owner),
      allShards.map(() => present),
    )
    owner = present
  }
  return { p, q, replicaOfQ, see, yieldedBy: () => moves.yieldedBy(shard, owner, hasYielded) }
}

test('after a move, an epoch of the server that had the shard before is whole, for as long as that server runs', () => {
  const { p, q, see, yieldedBy } = watching()
  see(p, [q])
  see(q, [p])
  expect(yieldedBy()).toBe('1.1')
  see(q, [p], 60_000)
  expect(yieldedBy()).toBe('1.1')
  see(q)
  expect(yieldedBy()).toBeUndefined()
})

test('after a move, then a failover of the new owner, no epoch is whole: what was written since may be lost', () => {
  const { p, q, replicaOfQ, see, yieldedBy } = watching()
  see(p, [q])
  see(q, [p])
  see(replicaOfQ, [p])
  expect(yieldedBy()).toBeUndefined()
})

test('after a move, then a restart of the new owner, no epoch is whole: it may have lost its last second', () => {
  const { p, q, see, yieldedBy } = watching()
  see(p, [q])
  see(q, [p])
  q.restart()
  see(q, [p])
  expect(yieldedBy()).toBeUndefined()
})

test('a process that did not see the move, or looked too seldom for a failover after it, vouches for no epoch', () => {
  const started = watching()
  started.see(started.q, [started.p])
  expect(started.yieldedBy()).toBeUndefined()
  const frozen = watching()
  frozen.see(frozen.p, [frozen.q])
  frozen.see(frozen.replicaOfQ, [frozen.p], 5_000)
  expect(frozen.yieldedBy()).toBeUndefined()
})

test('the run of the new owner must have been known when it was seen first', () => {
  const { p, q, see, yieldedBy } = watching()
  const { runId } = q
  see(p, [q])
  q.runId = () => undefined
  see(q, [p])
  q.runId = runId
  see(q, [p])
  expect(yieldedBy()).toBeUndefined()
})
