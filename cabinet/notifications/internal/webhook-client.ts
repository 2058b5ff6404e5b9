import { Agent, request } from 'undici'
import { createAddressGuard } from '#core/catalog/address-guard'
import { createGuardedConnector, type ResolveName } from '#core/egress/guarded-connector'
import { createDnsResolver } from '#core/egress/resolve-by-dns'
import { createNetworks } from '#core/process/networks'

/** Longest that one attempt may take, in ms: a receiver should store a webhook, and work later. */
export const attemptMsMax = 10_000
/** Of a response this much is read, so that its connection can be used again; then it is closed. */
const responseBytesMax = 16 * 1024

export type WebhookClient = {
  /** Posts a body. Returns why it was not accepted: a code or an HTTP status; `undefined`: it was, by a status 2xx. */
  post(
    url: string,
    sent: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
    ending: AbortSignal,
  ): Promise<string | undefined>
}

/**
 * Posts webhooks only to public addresses with TLS, and to those private ones that the installation allows, with or
 * without it. Names are looked up once per connection, by DNS only: an unknown name and one of our network fail alike. Redirects are not followed: they are responses other than 2xx.
 *
 * @param allowedCidrs private networks where webhooks may be.
 */
export function createWebhookClient(
  allowedCidrs: readonly string[],
  { resolve = createDnsResolver() }: { readonly resolve?: ResolveName } = {},
): WebhookClient {
  const guard = createAddressGuard(allowedCidrs)
  const allowed = createNetworks(allowedCidrs)
  const isAllowed = (address: string) => guard(address, { privateAddresses: true })
  const agentWith = (plainHttp: boolean) =>
    new Agent({
      allowH2: false,
      connections: 4, // of a worker's lanes each may serve another organization with a receiver at the same host
      maxOrigins: 1024,
      headersTimeout: 0, // the signal ends an attempt
      bodyTimeout: 0,
      connect: createGuardedConnector({
        isAllowed: plainHttp ? (address) => allowed.has(address) && isAllowed(address) : isAllowed,
        resolve,
        plainHttp,
        caCertificates: undefined,
      }),
    })
  const [plain, encrypted] = [agentWith(true), agentWith(false)]
  return {
    async post(url, { headers, body }, ending) {
      try {
        const response = await request(url, {
          dispatcher: url.startsWith('http:') ? plain : encrypted,
          method: 'POST',
          headers: { 'content-type': 'application/json', 'user-agent': 'model-gateway', ...headers },
          body,
          signal: AbortSignal.any([ending, AbortSignal.timeout(attemptMsMax)]),
        })
        await response.body.dump({ limit: responseBytesMax }).catch(() => undefined)
        return response.statusCode >= 200 && response.statusCode < 300
          ? undefined
          : `HTTP ${response.statusCode}`
      } catch (error) {
        return codeOf(error)
      }
    },
  }
}

/** Only a code: a message may contain an address of the network. */
function codeOf(error: unknown): string {
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown }
  if (name === 'TimeoutError') return 'ETIMEDOUT'
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'ERR_UNKNOWN'
}
