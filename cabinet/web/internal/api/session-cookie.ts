import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SessionGate } from '../../../api/session-gate.ts'

type Cookies = SessionGate['cookies']

const attributes = { path: '/', secure: true, httpOnly: true } as const

export function findSessionToken(request: FastifyRequest, { session }: Cookies): string | undefined {
  return request.cookies[session] || undefined
}

export function setSessionCookie(
  reply: FastifyReply,
  { session, sameSite }: Cookies,
  { token, maxAgeS }: { readonly token: string; readonly maxAgeS: number },
): void {
  reply.setCookie(session, token, { ...attributes, sameSite, maxAge: maxAgeS })
}

export function clearSessionCookie(reply: FastifyReply, { session, sameSite }: Cookies): void {
  reply.clearCookie(session, { ...attributes, sameSite })
}
