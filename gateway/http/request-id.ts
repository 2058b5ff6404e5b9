import { randomUUID } from 'node:crypto'

/** A new UUIDv7 (RFC 9562 §5.7): the time in front, so that ids sort by it; 74 bits are random. */
export function newRequestId(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
