import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The version of a document. */
export function etagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url')}"`
}

type Document = { readonly body: string | Buffer; readonly etag: string; readonly vary: string }

/** Responds with a document that browsers may keep, or 304 if the browser has it: an error is never kept. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, etag, vary }: Document,
): FastifyReply {
  reply.headers({ 'cache-control': 'no-cache', etag, vary })
  if (reply.statusCode === 200 && isKnown(request, etag)) return reply.code(304).send()
  return reply.type('text/html; charset=utf-8').send(body)
}

/** Proxies that compress a document call its version weak: `W/"…"`. */
function isKnown({ headers }: FastifyRequest, etag: string): boolean {
  const known = headers['if-none-match']?.split(',') ?? []
  return known.some((one) => one.trim().replace(/^W\//, '') === etag)
}
