import type { FastifyReply, FastifyRequest } from 'fastify'

/** `__Host-`: only this host can set it, over TLS (or on localhost), for all its paths. */
const cookieName = '__Host-model_gateway_session'

/** Lax, not Strict: users who return from the payment provider are still signed in. */
const attributes = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const

export function findSessionToken(request: FastifyRequest): string | undefined {
  return request.cookies[cookieName] || undefined
}

export function setSessionCookie(
  reply: FastifyReply,
  { token, maxAgeS }: { readonly token: string; readonly maxAgeS: number },
): void {
  reply.setCookie(cookieName, token, { ...attributes, maxAge: maxAgeS })
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.clearCookie(cookieName, attributes)
}
