import { z } from 'zod'

const count = z.int().min(0)

/** Token classes as a record carries them; see `price.ts`. */
export const tokenClassesSchema = z.object({
  input: count,
  cachedInput: count,
  cacheWrite: count,
  output: count,
  reasoning: count,
})

/**
 * How a request ended.
 *
 * `completed`: answered to its last byte. `refused_upstream`: a provider said the request itself was wrong.
 * `failed`: no provider answered. `client_gone`, `upstream_cut`: broken off, billed by the abort table.
 * `unsettled`: Redis stayed away past the last byte's 5 s. `swept`: its gateway died; billed from its hold.
 * `never_started`: admitted, but the gateway did not learn of it.
 */
export const requestOutcomes = [
  'completed',
  'refused_upstream',
  'failed',
  'client_gone',
  'upstream_cut',
  'unsettled',
  'swept',
  'never_started',
] as const

/** One call of a provider within a request, and why the next one was needed. */
const attemptSchema = z.object({
  model: z.string(),
  provider: z.string(),
  backend: z.string(),
  /** `answered`, or a closed word for what went wrong (`refused`, `status_500`, `first_byte_timeout`, …). */
  result: z.string().max(60),
  ms: count,
})

/**
 * Everything a receipt says about one admitted request, except the money, which the entry carries beside it.
 *
 * Travels as JSON in the hold and in the charge; Postgres keeps it with the request.
 */
export const requestRecordSchema = z.object({
  endpoint: z.enum(['chat', 'embeddings']),
  modelAsked: z.string(),
  modelRan: z.string().nullable(),
  outcome: z.enum(requestOutcomes),
  /** Status that the client got; 499 when it left before one was sent. */
  status: z.int(),
  errorCode: z.string().nullable(),
  stream: z.boolean(),
  /** Price version of `modelRan`; `null` where nothing ran or the model is free. */
  priceId: z.uuid().nullable(),
  tokens: tokenClassesSchema,
  usageSource: z.enum(['provider', 'estimated', 'none']),
  attempts: z.array(attemptSchema).max(32),
  droppedParameters: z.array(z.string()).max(64),
  /** Milliseconds from the first byte of the request to the first content and to the end. */
  firstContentMs: count.nullable(),
  totalMs: count,
})

export type RequestRecord = z.infer<typeof requestRecordSchema>
export type Attempt = z.infer<typeof attemptSchema>
