import type { z } from 'zod'
import type { Access } from './access.ts'
import type { ProblemCode } from './problem.ts'

/** The input and the responses of one endpoint. Validation, types and OpenAPI all come from it. */
export type Contract = {
  /** The name of the operation in OpenAPI, in camel case. */
  readonly operation: string
  /** One line that describes the endpoint. */
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** In Fastify's syntax: `/api/v1/keys/:key_id`. */
  readonly url: string
  readonly access: Access
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodObject
  /** The response of each status. */
  readonly answers: Readonly<Partial<Record<AnswerStatus, AnswerShape>>>
  /** Problems in addition to those that the access and the input imply. */
  readonly problems?: readonly ProblemCode[]
  /** The header `Idempotency-Key` is required. A repeated request is carried out once. */
  readonly idempotencyKey?: true
  /** The header `If-Match` is required, so that concurrent changes are not overwritten. */
  readonly ifMatch?: true
  /** The rate limit. Defaults to `defaultThrottle`. */
  readonly throttle?: Throttle
  /** For endpoints without a session: when to require a proof of work. */
  readonly proofOfWork?: ProofRule
  /** The longest body. Defaults to 64 KiB. */
  readonly bodyBytesMax?: number
  /** How long shared caches may keep the response. By default they may not. */
  readonly cacheSeconds?: number
}

export type AnswerStatus = 200 | 201 | 202 | 204

/** A JSON body, an empty body, CSV lines as they are read, or server-sent events as they happen. */
export type AnswerShape = z.ZodType | 'nothing' | 'csv' | 'events'

/** `always`, or `above_threshold`: only for calls above the throttle. Known devices need no proof. */
type ProofRule = 'always' | 'above_threshold'

/** A rate limit over all replicas, in calls per minute unless the field states otherwise. */
export type Throttle = {
  /** Per address. An IPv6 address counts as its /64. */
  readonly perAddress: number
  /** Per address and day. */
  readonly perAddressDaily?: number
  /** For all callers together. Only for endpoints that need no session. */
  readonly all?: number
}

/** For inexpensive endpoints. */
export const defaultThrottle: Throttle = { perAddress: 600 }
