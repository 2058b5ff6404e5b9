import type { FastifyRequest } from 'fastify'
import { findBearer } from '#core/keys/key'
import { plainAddress } from '#core/process/plain-address'
import type { Caller } from '../../../api/access.ts'
import type { Contract } from '../../../api/contract.ts'
import type { Problem } from '../../../api/problem.ts'
import type { SessionGate, TokenGate } from '../../../api/session-gate.ts'
import type { EndpointThrottle } from './endpoint-throttle.ts'
import { namedOrganization } from './named-organization.ts'
import { isSameSite } from './origin.ts'
import { findSessionToken } from './session-cookie.ts'

export type CallerDeps = {
  readonly sessions: SessionGate
  /** Without it, the process accepts no management tokens. */
  readonly tokens?: TokenGate
  /** Of `APP_URL`. */
  readonly appOrigin: string
}

type Found = { readonly caller: Caller } | { readonly problem: Problem }

/**
 * Finds the caller of each request of an endpoint, from its headers only.
 *
 * @param throttle counts the call; `undefined`: the endpoint first checks that the call is valid.
 * @throws Postgres errors, or that Postgres is unavailable.
 */
export function createCallerSearch(
  contract: Contract,
  deps: CallerDeps,
  throttle: EndpointThrottle | undefined,
): (request: FastifyRequest) => Promise<Found> {
  const { access } = contract
  return async (request) => {
    const session = findSessionToken(request, deps.sessions.cookies)
    const token = findManagementToken(request, access.to, deps.tokens, session)
    const from = { appOrigin: deps.appOrigin, hasSession: session !== undefined }
    // No browser adds a management token to another site's request, and no cookie is read with it.
    if (token === undefined && !isSameSite(request.method, request.headers, from))
      return { problem: { code: 'cross_site_request' } }
    if (throttle === undefined) return { caller: undefined }
    const waitS = await throttle.waitOfAddress(plainAddress(request.ip))
    if (waitS > 0) return { problem: { code: 'rate_limited', retryAfterS: waitS } }
    const named = namedOrganization(access, request)
    const found =
      token === undefined
        ? await deps.sessions.findCaller(access, session, named)
        : await token.gate.findBearer(access, token.text, named)
    if ('problem' in found) return found
    const ofCallerS = await waitOfCaller(found.caller, contract, throttle)
    return ofCallerS > 0 ? { problem: { code: 'rate_limited', retryAfterS: ofCallerS } } : found
  }
}

/** The management token of a request. Next to a session, another text in `Authorization` may be a proxy's. */
function findManagementToken(
  { headers }: FastifyRequest,
  to: Contract['access']['to'],
  gate: TokenGate | undefined,
  session: string | undefined,
): { readonly gate: TokenGate; readonly text: string } | undefined {
  const text = to === 'anyone' ? undefined : findBearer(headers.authorization)
  if (gate === undefined || text === undefined) return undefined
  return session === undefined || gate.isToken(text) ? { gate, text } : undefined
}

/** A token counts everywhere, a session only at endpoints with their own throttle. */
async function waitOfCaller(caller: Caller, contract: Contract, throttle: EndpointThrottle): Promise<number> {
  if (caller === undefined) return 0
  if ('tokenId' in caller) return throttle.waitOfSession(caller.tokenId)
  return contract.throttle === undefined ? 0 : throttle.waitOfSession(caller.sessionId)
}
