import { isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import { Pool } from 'undici'

/** An HTTP proxy that opens connections to other hosts (`CONNECT`). */
export type EgressProxy = {
  /**
   * A connection to that host, which the proxy looks up.
   *
   * @throws ProxyFailed if the proxy cannot be reached, or does not open it.
   */
  openTunnel(hostname: string, port: number, signal?: AbortSignal): Promise<Duplex>
  /** Ends what is being opened; tunnels belong to those who opened them. */
  close(): Promise<void>
}

/** Longest that the proxy may take, in ms, to accept a connection and to open a tunnel, whatever a call allows. */
const waitMsMax = 10_000
/** Tunnels that are being opened at the same time; more wait. */
const openingMax = 256

/** The proxy is the problem, not the provider. Omits its URL, which may have a password. */
class ProxyFailed extends Error {
  readonly code: 'ERR_PROXY_UNREACHABLE' | 'ERR_PROXY_REFUSED'
  constructor(code: ProxyFailed['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProxyFailed'
    this.code = code
  }
}

/** @param url `http://` or `https://`, with user and password if the proxy asks for them. Opens nothing yet. */
export function createEgressProxy(url: string): EgressProxy {
  const { origin, username, password } = new URL(url)
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const credential =
    username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }
  const pool = new Pool(origin, {
    allowH2: false,
    connections: openingMax,
    connect: { timeout: waitMsMax },
    headersTimeout: waitMsMax,
  })
  return {
    async openTunnel(hostname, port, signal) {
      const host = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port}`
      const headers = { host, ...credential }
      const { socket, statusCode } = await pool
        .connect({ path: host, headers, ...(signal !== undefined && { signal }) })
        .catch((cause: unknown) => {
          throw new ProxyFailed('ERR_PROXY_UNREACHABLE', 'the egress proxy cannot be reached', { cause })
        })
      if (statusCode >= 200 && statusCode < 300) return socket
      socket.on('error', () => undefined).destroy()
      throw new ProxyFailed('ERR_PROXY_REFUSED', `the egress proxy responded with ${statusCode}`)
    },
    close: () => pool.destroy(),
  }
}
