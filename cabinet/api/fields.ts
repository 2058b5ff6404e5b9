import { z } from 'zod'

/** An id in a path. One that cannot be an id is as good as one that nobody has: 404, not 422. */
export const pathId = z.string()

/** An id in a body or an answer. */
export const id = z.uuid()

/** RFC 3339, UTC. */
export const time = z.iso.datetime()

/** Of this millennium: what Postgres reads without a mistake. */
export const readableYear = /^2\d{3}-/

/** A time in a request or a cursor. */
export const askedTime = (options: { readonly precision?: number } = {}) =>
  z.iso.datetime(options).regex(readableYear)
