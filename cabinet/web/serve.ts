import { startAdminServer } from '#core/process/admin-server'
import type { KeyList } from '#core/process/key-list'
import { listeningPort } from '#core/process/listening-port'
import type { RedisServers } from '#core/redis/redis-connection'
import type { Throttles } from '../api/throttles.ts'
import { createProofsOfWork } from './internal/api/altcha.ts'
import { createDeviceCookies } from './internal/api/device-cookie.ts'
import { createRedisThrottles } from './internal/api/redis-throttles.ts'
import { type AppDeps, buildApp } from './internal/app.ts'
import { watchSilentConnections } from './internal/silent-connections.ts'

export type Served = {
  readonly port: number
  /** Port of `/livez`, `/readyz` and `/metrics`. */
  readonly adminPort: number
  /** Accepts no new connections, finishes running requests, closes the stores, and then the admin port. */
  stop(closeStores: () => Promise<void>): Promise<void>
}

export type ServeConfig = {
  readonly host: string
  readonly port: number
  readonly adminPort: number
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  /** The public address of this process, without a trailing slash: the only origin whose pages may change data. */
  readonly ownUrl: string
  /** Sign device cookies and challenges. */
  readonly sealingKeys: KeyList<Uint8Array>
}

type Parts = Omit<AppDeps, 'appOrigin' | 'trustedProxies' | 'proofs' | 'devices'> & {
  /** Why this process should get no work; `undefined`: it should. */
  readonly notReady: () => string | undefined
}

/** Serves endpoints on a public port, and the state of the process on its admin port. */
export async function serve(config: ServeConfig, { notReady, ...parts }: Parts): Promise<Served> {
  const { sealingKeys, trustedProxies, host } = config
  const app = buildApp({
    ...parts,
    proofs: createProofsOfWork(sealingKeys, parts.throttles),
    devices: createDeviceCookies(sealingKeys, parts.sessions.cookies.device),
    appOrigin: new URL(config.ownUrl).origin,
    trustedProxies,
  })
  let isDraining = false
  const admin = await startAdminServer({
    host,
    port: config.adminPort,
    registry: parts.metrics.registry,
    // A later outage of Postgres does not make it unready: it affects all replicas, and our own 503 is more helpful
    // than a load balancer's.
    notReady: () => (isDraining ? 'draining' : notReady()),
  })
  const closeSilent = watchSilentConnections(app.server)
  await app.listen({ host, port: config.port })
  return {
    port: listeningPort(app.server),
    adminPort: admin.port,
    async stop(closeStores) {
      isDraining = true
      const closed = app.close()
      closeSilent()
      await closed
      await closeStores()
      await admin.stop()
    },
  }
}

/** Counts calls of all replicas, of this and the other process that serves endpoints. */
export function createThrottles(redis: RedisServers): Throttles {
  return createRedisThrottles(redis)
}
