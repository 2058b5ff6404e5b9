import { lookup } from 'node:dns'
import { Agent } from 'undici'
import type { AddressGuard } from '#core/catalog/address-guard'
import { createGuardedConnector, type ResolveName } from '#core/egress/guarded-connector'
import { createEgressProxy } from './internal/egress-proxy.ts'

/** Connections to one provider. A stream occupies one to its end; undici opens them as needed. */
const connectionsPerOriginMax = 4096
/** Addresses that one agent keeps connections to. */
const originsMax = 1024
/** Agents, one for each way of reaching a provider; the oldest is closed when there are more. */
const agentsMax = 256
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

export type ProviderAgents = {
  /** Connections that are shared only by providers that may be reached in the same way. */
  agentFor(access: ProviderAccess): Agent
  /** Cuts what still runs and closes every connection. */
  close(): Promise<void>
}

/**
 * Keeps connections to providers; each is made only to an address that `guard` lets through.
 *
 * @param proxyUrl proxy for all providers but those with private addresses, which it could not reach. It looks names up
 *   itself, so of these providers `guard` judges only literal addresses.
 */
export function createProviderAgents(
  guard: AddressGuard,
  {
    resolve = lookup,
    proxyUrl,
  }: { readonly resolve?: ResolveName; readonly proxyUrl?: string | undefined } = {},
): ProviderAgents {
  const agents = new Map<string, Agent>()
  const proxy = proxyUrl === undefined ? undefined : createEgressProxy(proxyUrl)

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
      connect: createGuardedConnector({
        isAllowed: (address) => guard(address, access),
        resolve,
        plainHttp: access.plainHttp,
        caCertificates: access.caCertificates,
        proxy: access.privateAddresses ? undefined : proxy,
      }),
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
      await proxy?.close()
    },
  }
}
