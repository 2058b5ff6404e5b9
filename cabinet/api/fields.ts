import { z } from 'zod'

/** An ID in a path. A malformed ID gets the same response as an unknown one: 404, not 422. */
export const pathId = z.string()

/** An ID in a body or a response. */
export const id = z.uuid()

/** RFC 3339, UTC. */
export const time = z.iso.datetime()

/** Years of this millennium, which Postgres parses exactly. */
export const readableYear = /^2\d{3}-/

/** A time in a request or a cursor. */
export const askedTime = (options: { readonly precision?: number } = {}) =>
  z.iso.datetime(options).regex(readableYear)
