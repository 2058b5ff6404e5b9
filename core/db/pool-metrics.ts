import type { Pool, PoolClient } from 'pg'
import { Gauge, Histogram, type Registry } from 'prom-client'

/** Seconds of a statement: from one round trip on a quiet network to the longest that is waited for. */
const buckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Shows how long Postgres takes and how full pools are. Call it once per process, before the pools are used. */
export function measurePools(registry: Registry, pools: Readonly<Record<string, Pool>>): void {
  const registers = [registry]
  const seconds = new Histogram({
    name: 'model_gateway_postgres_query_duration_seconds',
    help: 'Time from a statement to its complete response, or to its failure.',
    labelNames: ['pool'],
    buckets,
    registers,
  })
  const connections: Gauge = new Gauge({
    name: 'model_gateway_postgres_connections',
    help: 'Connections to Postgres, used and idle.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount }] of Object.entries(pools)) {
        connections.set({ pool, state: 'idle' }, idleCount)
        connections.set({ pool, state: 'used' }, totalCount - idleCount)
      }
    },
  })
  const waiting: Gauge = new Gauge({
    name: 'model_gateway_postgres_connection_waiters',
    help: 'Callers that wait for a free connection to Postgres.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waitingCount }] of Object.entries(pools)) waiting.set({ pool }, waitingCount)
    },
  })
  for (const [name, pool] of Object.entries(pools)) {
    const { observe } = seconds.labels({ pool: name })
    pool.on('connect', (client) => timeStatements(client, observe))
  }
}

/** The pool itself calls with a callback at the end, all other callers await. */
function timeStatements(client: PoolClient, observe: (seconds: number) => void): void {
  const send = client.query.bind(client) as (...sent: unknown[]) => unknown
  const timed = (...sent: unknown[]): unknown => {
    const sentAtMs = performance.now()
    const end = () => observe((performance.now() - sentAtMs) / 1000)
    const last = sent.at(-1)
    if (typeof last === 'function')
      return send(...sent.slice(0, -1), (...answer: unknown[]) => {
        end()
        last(...answer)
      })
    const answer = send(...sent)
    if (answer instanceof Promise) answer.then(end, end)
    return answer
  }
  client.query = timed as typeof client.query
}
