import type { z } from 'zod'
import type { Access } from './access.ts'
import type { ProblemCode } from './problem.ts'

/** What one endpoint takes and answers: validation, types and OpenAPI are made from it alone. */
export type Contract = {
  /** In camel case: the name of the operation in OpenAPI. */
  readonly operation: string
  /** One line for people. */
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** As Fastify reads it: `/api/v1/keys/:key_id`. */
  readonly url: string
  readonly access: Access
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodObject
  /** Per status, what is answered. */
  readonly answers: Readonly<Partial<Record<AnswerStatus, AnswerShape>>>
  /** Problems of its own, beside those that its access and its form imply. */
  readonly problems?: readonly ProblemCode[]
  /** The header `Idempotency-Key` is required: the same request again is carried out once. */
  readonly idempotencyKey?: true
  /** The header `If-Match` is required: what was changed meanwhile is not overwritten. */
  readonly ifMatch?: true
  /** Calls in a minute; without it `defaultThrottle`. */
  readonly throttle?: Throttle
  /** For everybody's endpoints: when a proof of work is asked for. */
  readonly proofOfWork?: ProofRule
  /** An answer that everybody may keep for so long; none unless said. */
  readonly cacheSeconds?: number
}

export type AnswerStatus = 200 | 201 | 202 | 204

/** A body of JSON, none at all, lines of CSV as they are read, or server-sent events as they happen. */
export type AnswerShape = z.ZodType | 'nothing' | 'csv' | 'events'

/** `always`, or only `above_threshold`: once there were more calls than the throttle says. Known devices prove nothing. */
type ProofRule = 'always' | 'above_threshold'

/** Calls in a minute, unless said otherwise, over all replicas. */
export type Throttle = {
  /** From one address; of IPv6 from one /64. */
  readonly perAddress: number
  /** As many in a day. */
  readonly perAddressDaily?: number
  /** From everybody together, of endpoints that need no session. */
  readonly all?: number
}

/** For endpoints that do nothing dear. */
export const defaultThrottle: Throttle = { perAddress: 600 }
