import type { AgentOptions, RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import { Agent, type Dispatcher, ProxyAgent } from 'undici'

/** Identity and connections, as read from the files of the kubeconfig. */
export type Session = {
  readonly headers: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher
}

/** The current session of a kubeconfig, which is replaced when it is old or rejected. */
export type ClusterSessions = {
  current(): Promise<Session>
  /** The session to use after a 401 to `used`. */
  after(used: Promise<Session>): Promise<Session>
  /** Closes the connections of `used`, which may be dead, and aborts the requests on them. The next call opens others. */
  abandon(used: Promise<Session>): void
  /** Closes the current session's connections and aborts the requests on them. */
  destroy(): void
}

/** Age at which token, certificates and connections are renewed, as client-go does with rotated token files. */
const sessionMs = 60_000
/** Time for TCP and TLS. */
const connectMs = 5_000

/**
 * `shared`: all requests use one connection, if the server has HTTP/2. Forty at once are written and read together, and take
 * half the processor time. `own`: requests at the same time have separate connections, so one that times out takes no other with it.
 */
export type Connections = 'shared' | 'own'

/** Opens nothing before the first request. */
export function createClusterSessions(kubeConfig: KubeConfig, connections: Connections): ClusterSessions {
  let session: Promise<Session> | undefined
  let renewAtMs = 0

  function current(): Promise<Session> {
    return session !== undefined && performance.now() < renewAtMs ? session : renew()
  }

  function renew(): Promise<Session> {
    const ended = session
    const opening = openSession(kubeConfig, connections)
    session = opening
    renewAtMs = performance.now() + sessionMs
    opening.catch(() => {
      if (session === opening) session = undefined // a file was missing; the next call looks again
    })
    // Gracefully: watches and requests under way keep their connections until they end.
    ended?.then(({ dispatcher }) => dispatcher.close()).catch(() => undefined)
    return opening
  }

  function destroy(ended: Promise<Session> | undefined): void {
    // Not waited for: a session that is still opening may never be open.
    ended?.then(({ dispatcher }) => dispatcher.destroy()).catch(() => undefined)
  }

  return {
    current,
    abandon(used) {
      if (session !== used) return
      session = undefined
      destroy(used)
    },
    after: (used) => (session === used ? renew() : current()),
    destroy: () => destroy(session),
  }
}

/** Reads every file that the kubeconfig names again: client-node keeps a token for a minute, and its agents forever. */
async function openSession(kubeConfig: KubeConfig, connections: Connections): Promise<Session> {
  const fresh = new KubeConfig()
  fresh.loadFromOptions(kubeConfig)
  const options: RequestOptions & AgentOptions = {}
  await fresh.applyToHTTPSOptions(options)
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([k, v]) => [k, String(v).trim()]),
  )
  if (typeof options.auth === 'string')
    headers.Authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`
  return { headers, dispatcher: openDispatcher(fresh, options, connections) }
}

function openDispatcher(
  kubeConfig: KubeConfig,
  options: RequestOptions & AgentOptions,
  connections: Connections,
): Dispatcher {
  const { ca, cert, key, rejectUnauthorized, servername } = options
  const tls = { ca, cert, key, rejectUnauthorized, servername }
  const sharing = connections === 'shared' ? { allowH2: true, connections: 1 } : { allowH2: false }
  const proxy = kubeConfig.getCurrentCluster()?.proxyUrl
  if (proxy?.startsWith('socks')) throw new Error('A kubeconfig with a SOCKS proxy is not supported.')
  if (proxy !== undefined) return new ProxyAgent({ uri: proxy, requestTls: tls, ...sharing, allowH2: false })
  return new Agent({ connect: { ...tls, timeout: connectMs, keepAlive: true }, ...sharing })
}
