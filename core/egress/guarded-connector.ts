import type { LookupAddress, LookupOptions } from 'node:dns'
import { isIP, type LookupFunction, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, getCACertificates } from 'node:tls'
import { buildConnector } from 'undici'

/** Longest that a new connection is tried, in ms, whatever a call allows: undici has one setting for all. */
const socketConnectMsMax = 10_000

/** All addresses of a name, as `dns.lookup` finds them. */
export type ResolveName = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Opens connections to other hosts, which it looks up. */
type Tunnels = { openTunnel(hostname: string, port: number): Promise<Duplex> }

type GuardedConnectorOptions = {
  /** Whether a connection may be made to an IP address. */
  readonly isAllowed: (address: string) => boolean
  readonly resolve: ResolveName
  /** Whether connections without TLS may be made. */
  readonly plainHttp: boolean
  /** PEM of CAs to trust in addition to the usual ones. */
  readonly caCertificates: string | undefined
  /** Closes every connection that was made, and those that are being made. */
  readonly signal?: AbortSignal
  /** Opens every connection. It looks names up, so only literal addresses are checked here. */
  readonly proxy?: Tunnels | undefined
}

/** An address is not allowed. Does not say which address: that would map our network. */
class AddressRefused extends Error {
  readonly code = 'ERR_ADDRESS_REFUSED'
  constructor() {
    super('the address is not allowed')
    this.name = 'AddressRefused'
  }
}

/**
 * Connects only to addresses that `isAllowed` lets through. A name is looked up once per connection and all its
 * addresses are checked, so there is nothing to rebind between the check and its use.
 */
export function createGuardedConnector(options: GuardedConnectorOptions): buildConnector.connector {
  const { isAllowed, plainHttp, caCertificates, signal, proxy } = options
  const connect = buildConnector({
    allowH2: false,
    timeout: socketConnectMsMax,
    lookup: createGuardedLookup(options),
    // Built once: reading all CAs takes 10 ms.
    ...(caCertificates !== undefined && {
      secureContext: createSecureContext({ ca: [...getCACertificates('default'), caCertificates] }),
    }),
    ...(signal !== undefined && { signal }),
  })
  return (target, callback) => {
    // A literal address is never looked up. Its odd spellings (0x7f.1, 2130706433) `URL` has made plain.
    const { protocol, hostname } = target
    const isRefused = (protocol !== 'https:' && !plainHttp) || (isIP(hostname) !== 0 && !isAllowed(hostname))
    if (isRefused) queueMicrotask(() => callback(new AddressRefused(), null))
    else if (proxy === undefined) connect(target, callback)
    else connectThrough(proxy, connect, target, callback)
  }
}

function connectThrough(
  proxy: Tunnels,
  connect: buildConnector.connector,
  target: buildConnector.Options,
  callback: buildConnector.Callback,
): void {
  const isTls = target.protocol === 'https:'
  proxy.openTunnel(target.hostname, Number(target.port) || (isTls ? 443 : 80)).then(
    (tunnel) => {
      if (!(tunnel instanceof Socket)) throw new TypeError('a tunnel is a socket')
      if (isTls) connect({ ...target, httpSocket: tunnel }, callback)
      else callback(null, tunnel)
    },
    (error: Error) => callback(error, null),
  )
}

function createGuardedLookup({ isAllowed, resolve }: GuardedConnectorOptions): LookupFunction {
  return (hostname, options, callback) =>
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) callback(error ?? new AddressRefused(), [])
      else if (!addresses.every(({ address }) => isAllowed(address))) callback(new AddressRefused(), [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
}
