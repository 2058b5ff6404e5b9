import { randomUUID } from 'node:crypto'

/** A new UUIDv7 (RFC 9562 §5.7): the time in front, so that ids sort by it; 74 bits are random. */
export function newRequestId(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** Of the ids of answers (`idOf` of each of `formats/`). */
const answerPrefixes = ['chatcmpl-', 'resp_', 'msg_'] as const

/** The request that an id belongs to, be it the request's own or that of its answer. */
export function requestIdOf(id: string): string {
  const prefix = answerPrefixes.find((known) => id.startsWith(known)) ?? ''
  return id.slice(prefix.length)
}
