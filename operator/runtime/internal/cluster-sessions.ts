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
  /** Closes the current session's connections and aborts the requests on them. */
  destroy(): void
}

/** Age at which token, certificates and connections are renewed, as client-go does with rotated token files. */
const sessionMs = 60_000
/** Time for TCP and TLS. */
const connectMs = 5_000

/** Opens nothing before the first request. */
export function createClusterSessions(kubeConfig: KubeConfig): ClusterSessions {
  let session: Promise<Session> | undefined
  let renewAtMs = 0

  function current(): Promise<Session> {
    return session !== undefined && performance.now() < renewAtMs ? session : renew()
  }

  function renew(): Promise<Session> {
    const ended = session
    const opening = openSession(kubeConfig)
    session = opening
    renewAtMs = performance.now() + sessionMs
    opening.catch(() => {
      if (session === opening) session = undefined // a file was missing; the next call looks again
    })
    // Gracefully: watches and requests under way keep their connections until they end.
    ended?.then(({ dispatcher }) => dispatcher.close()).catch(() => undefined)
    return opening
  }

  return {
    current,
    after: (used) => (session === used ? renew() : current()),
    destroy() {
      // Not waited for: a session that is still opening may never be open.
      session?.then(({ dispatcher }) => dispatcher.destroy()).catch(() => undefined)
    },
  }
}

/**
 * Reads every file that the kubeconfig names again: client-node keeps a token for a minute, and its agents forever.
 *
 * HTTP/1.1 only. Over HTTP/2 all requests share one connection, and if that is half open each of them times out while
 * it is kept. Over HTTP/1.1 a request that times out takes its connection with it.
 */
async function openSession(kubeConfig: KubeConfig): Promise<Session> {
  const fresh = new KubeConfig()
  fresh.loadFromOptions(kubeConfig)
  const options: RequestOptions & AgentOptions = {}
  await fresh.applyToHTTPSOptions(options)
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([k, v]) => [k, String(v).trim()]),
  )
  if (typeof options.auth === 'string')
    headers.Authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`
  return { headers, dispatcher: openDispatcher(fresh, options) }
}

function openDispatcher(kubeConfig: KubeConfig, options: RequestOptions & AgentOptions): Dispatcher {
  const { ca, cert, key, rejectUnauthorized, servername } = options
  const tls = { ca, cert, key, rejectUnauthorized, servername }
  const proxy = kubeConfig.getCurrentCluster()?.proxyUrl
  if (proxy?.startsWith('socks')) throw new Error('A kubeconfig with a SOCKS proxy is not supported.')
  if (proxy !== undefined) return new ProxyAgent({ uri: proxy, requestTls: tls, allowH2: false })
  return new Agent({ connect: { ...tls, timeout: connectMs, keepAlive: true }, allowH2: false })
}
