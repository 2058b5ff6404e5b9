import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { Agent, buildConnector } from 'undici'
import type { AddressGuard } from '#core/catalog/address-guard'

/** Connections to one provider. A stream occupies one to its end; undici opens them as needed. */
const connectionsPerOriginMax = 4096
/** Addresses that one agent keeps connections to. */
const originsMax = 1024
/** Agents, one for each way of reaching a provider; the oldest is closed when there are more. */
const agentsMax = 256
/** Longest that a new connection is tried, in ms, whatever a call allows: undici has one setting for all. */
const socketConnectMsMax = 10_000
/** Time that an idle connection is kept, in ms: below uvicorn's 5 s, so that we rarely meet a closing one. */
const keepAliveMs = 4000
/** Longest that a provider's own keep-alive hint is followed, in ms. */
const keepAliveMsMax = 60_000

/** How a provider may be reached. */
export type ProviderAccess = {
  /** Without TLS. */
  readonly plainHttp: boolean
  readonly privateAddresses: boolean
  /** PEM of CAs to trust in addition to the usual ones. */
  readonly caCertificates: string | undefined
}

/** All addresses of a name, as `dns.lookup` finds them. */
export type ResolveName = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export type ProviderAgents = {
  /** Connections that are shared only by providers that may be reached in the same way. */
  agentFor(access: ProviderAccess): Agent
  /** Cuts what still runs and closes every connection. */
  close(): Promise<void>
}

/** A provider's address is not allowed. Does not say which address: that would map our network. */
class AddressRefused extends Error {
  readonly code = 'ERR_ADDRESS_REFUSED'
  constructor() {
    super("the provider's address is not allowed")
    this.name = 'AddressRefused'
  }
}

/**
 * Keeps connections to providers; each is made only to an address that `guard` lets through. A name is looked up once
 * per connection and all its addresses are checked, so there is nothing to rebind between the check and its use.
 */
export function createProviderAgents(
  guard: AddressGuard,
  { resolve = lookup }: { readonly resolve?: ResolveName } = {},
): ProviderAgents {
  const agents = new Map<string, Agent>()

  function createAgent(access: ProviderAccess): Agent {
    return new Agent({
      allowH2: false,
      connections: connectionsPerOriginMax,
      maxOrigins: originsMax,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMsMax,
      // Our own clocks: undici's are coarse and run while we pause.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: createConnector(access, guard, resolve),
    })
  }

  return {
    agentFor(access) {
      const kind = `${access.plainHttp} ${access.privateAddresses} ${access.caCertificates ?? ''}`
      const known = agents.get(kind)
      if (known !== undefined) return known
      const [oldest] = agents
      if (oldest !== undefined && agents.size >= agentsMax) {
        agents.delete(oldest[0])
        void oldest[1].close() // once what runs on it has ended
      }
      const made = createAgent(access)
      agents.set(kind, made)
      return made
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()))
    },
  }
}

function createConnector(
  access: ProviderAccess,
  guard: AddressGuard,
  resolve: ResolveName,
): buildConnector.connector {
  const { caCertificates } = access
  const connect = buildConnector({
    allowH2: false,
    timeout: socketConnectMsMax,
    lookup: createGuardedLookup(access, guard, resolve),
    // Built once: reading all CAs takes 10 ms.
    ...(caCertificates !== undefined && {
      secureContext: createSecureContext({ ca: [...getCACertificates('default'), caCertificates] }),
    }),
  })
  return (options, callback) => {
    // A literal address is never looked up. Its odd spellings (0x7f.1, 2130706433) `URL` has made plain.
    const { protocol, hostname } = options
    const isRefused =
      (protocol !== 'https:' && !access.plainHttp) || (isIP(hostname) !== 0 && !guard(hostname, access))
    if (isRefused) queueMicrotask(() => callback(new AddressRefused(), null))
    else connect(options, callback)
  }
}

function createGuardedLookup(
  access: ProviderAccess,
  guard: AddressGuard,
  resolve: ResolveName,
): LookupFunction {
  return (hostname, options, callback) =>
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) callback(error ?? new AddressRefused(), [])
      else if (!addresses.every(({ address }) => guard(address, access))) callback(new AddressRefused(), [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
}
