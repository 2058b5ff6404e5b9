import { createServer, type Server } from 'node:http'
import type { Registry } from 'prom-client'
import { withOldNames } from './internal/old-metric-names.ts'
import { listeningPort } from './listening-port.ts'

/** The port for probes and metrics. It belongs to the cluster and must never be public. */
export type AdminServer = { readonly port: number; stop(): Promise<void> }

/**
 * Serves `/livez` and `/readyz` (200, or 503 with the reason) and `/metrics`, with old names of metrics, too.
 *
 * @param options.notReady why the process should get no work now; `undefined` when it may.
 * @param options.notAlive why the process should be restarted; without it, it is alive while its event loop turns.
 */
export async function startAdminServer(options: {
  readonly host: string
  readonly port: number
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>
  readonly notReady: () => string | undefined
  readonly notAlive?: () => string | undefined
}): Promise<AdminServer> {
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0]
    if (path === '/livez' || path === '/readyz') {
      const reason = path === '/livez' ? options.notAlive?.() : options.notReady()
      return response.writeHead(reason === undefined ? 200 : 503).end(`${reason ?? 'ok'}\n`)
    }
    if (path === '/metrics') {
      const text = withOldNames(await options.registry.metrics())
      return response.setHeader('content-type', options.registry.contentType).end(text)
    }
    return response.writeHead(404).end('Not found. This port serves /livez, /readyz and /metrics.\n')
  })
  await listen(server, options.port, options.host)
  return {
    port: listeningPort(server),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
}
