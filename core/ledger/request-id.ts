import { timeInId } from '../db/id.ts'

/** Of the ids of responses (`gateway/formats`). */
const responsePrefixes = ['chatcmpl-', 'resp_', 'msg_'] as const

/** The request that an id belongs to, be it the request's own or that of its response. Pure. */
export function requestIdOf(id: string): string {
  const prefix = responsePrefixes.find((known) => id.startsWith(known)) ?? ''
  return id.slice(prefix.length)
}

/** Clocks of gateways, Redis and Postgres differ by less: the time of an id may be off by it. */
export const clockDifferenceMs = 60_000

/** When a request with this id arrived, Unix milliseconds: its UUID is of version 7. `undefined`: no gateway makes such ids. Pure. */
export function timeOfRequest(id: string): number | undefined {
  const hex = id.replaceAll('-', '')
  return /^[0-9a-f]{12}7[0-9a-f]{19}$/i.test(hex) ? timeInId(id) : undefined
}
