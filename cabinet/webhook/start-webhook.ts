import { createServer } from 'node:http'
import { createPool } from '#core/db/pool'
import { measurePools } from '#core/db/pool-metrics'
import { watchDatabase } from '#core/db/watch-database'
import { startAdminServer } from '#core/process/admin-server'
import { listeningPort } from '#core/process/listening-port'
import type { Log } from '#core/process/log'
import type { WebhookConfig } from './config.ts'
import { answerTunnel, createReceiver, type Receiver } from './internal/receiver.ts'
import { createWebhookMetrics } from './metrics.ts'

export type Webhook = {
  readonly port: number
  readonly adminPort: number
  /** The request handler, for serving it on another port of this process. */
  readonly receive: Receiver
  /** Accepts no new connections, finishes running requests, and closes everything. */
  stop(): Promise<void>
}

/**
 * Of a thousand concurrent notifications, the last ones wait for a connection. The provider repeats unstored
 * notifications for a day.
 */
const connectTimeoutMs = 3_000
const statementTimeoutMs = 2_000
const headersTimeoutMs = 10_000
const requestTimeoutMs = 15_000
/** How often Node checks for requests past these timeouts. The default is every 30 s. */
const connectionsCheckMs = 1_000

/**
 * Starts the webhook receiver. Postgres and its schema may become available later. Until then it is not ready,
 * responses are 503, and the provider repeats.
 */
export async function startWebhook(config: WebhookConfig, log: Log): Promise<Webhook> {
  const metrics = createWebhookMetrics()
  const pool = createPool({
    databaseUrl: config.databaseUrl,
    applicationName: 'model-gateway-webhook',
    connectTimeoutMs,
    statementTimeoutMs,
  })
  measurePools(metrics.registry, { main: pool })
  const database = watchDatabase(pool, log)
  const receive = createReceiver({ pool, config, metrics, log, now: () => performance.now() })
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: connectionsCheckMs,
      maxHeaderSize: 16 * 1024,
    },
    (request, response) => receive(request, response),
  )
  server.on('connect', (_request, socket) => answerTunnel(socket))
  let isDraining = false
  const admin = await startAdminServer({
    host: config.host,
    port: config.adminPort,
    registry: metrics.registry,
    notReady: () => (isDraining ? 'draining' : database.notReady()),
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(config.port, config.host, resolve)
  })
  return {
    port: listeningPort(server),
    adminPort: admin.port,
    receive,
    async stop() {
      isDraining = true
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      })
      await database.stop()
      await pool.end()
      await admin.stop()
    },
  }
}
