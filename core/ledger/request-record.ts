import { z } from 'zod'
import { renamed } from '../process/renamed.ts'
import { noTokens } from './price.ts'

const count = z.int().min(0)

/** UTF-16 units of one text in a record; our longest name has 253. */
const textLengthMax = 512

/**
 * A text that Postgres can store: no NUL, no half characters, not too long. Callers choose some of these texts, and a
 * record that cannot be stored would be a charge that is not posted.
 */
const text = z
  .string()
  .transform((said) => said.slice(0, textLengthMax).toWellFormed().replaceAll('\0', '\uFFFD'))

/** Token classes as a record carries them; see `price.ts`. */
export const tokenClassesSchema = z.object({
  input: count.default(0),
  cachedInput: count.default(0),
  cacheWrite: count.default(0),
  output: count.default(0),
  reasoning: count.default(0),
})

/**
 * How a request ended.
 *
 * - `completed`: answered to its last byte.
 * - `refused_upstream`: a provider reported that the request itself was wrong.
 * - `failed`: no provider answered.
 * - `client_gone`, `upstream_cut`: broken off, billed by the abort table.
 * - `unsettled`: Redis was unavailable for more than 5 s after the last byte.
 * - `swept`: its gateway died; billed from its hold.
 * - `never_started`: admitted, but the gateway did not learn of it.
 */
const requestOutcome = z.enum([
  'completed',
  'refused_upstream',
  'failed',
  'client_gone',
  'upstream_cut',
  'unsettled',
  'swept',
  'never_started',
])

export type RequestOutcome = z.infer<typeof requestOutcome>

/**
 * The same for users and their programs. Records keep their values, because releases that support only those
 * read them, too.
 */
export const shownOutcome = z.enum([
  'completed',
  'refused_upstream',
  'failed',
  'client_disconnected',
  'upstream_disconnected',
  'unsettled',
  'hold_expired',
  'not_started',
])

type ShownOutcome = z.infer<typeof shownOutcome>

/** An outcome to search for: as it is shown now, or as it was. */
export const soughtOutcome = z.enum([...shownOutcome.options, ...Object.values(renamed.outcomes)])

/** A record's outcome as it is shown. */
export function outcomeToShow(outcome: RequestOutcome): ShownOutcome {
  const found = shownOutcome.options.find((shown) => outcomeOfSought(shown) === outcome)
  if (found === undefined) throw new Error(`the outcome ${outcome} has no public name`)
  return found
}

/** A sought outcome as records have it. */
export function outcomeOfSought(sought: z.infer<typeof soughtOutcome>): RequestOutcome {
  return isRenamed(sought) ? renamed.outcomes[sought] : sought
}

function isRenamed(outcome: string): outcome is keyof typeof renamed.outcomes {
  return Object.hasOwn(renamed.outcomes, outcome)
}

/** One call to a provider within a request, and why the next one was needed. */
const attemptSchema = z.object({
  model: text,
  provider: text,
  backend: text,
  /** `answered`, or a closed word for what went wrong (`refused`, `status_500`, `first_byte_timeout`, …). */
  result: text,
  ms: count,
})

/**
 * All fields of a receipt for one admitted request, except the money, which the stream entry carries
 * separately.
 *
 * Travels as JSON in the hold and in the charge; Postgres keeps it with the request.
 */
export const requestRecordSchema = z.object({
  endpoint: z.enum(['chat', 'embeddings']),
  /**
   * The API that the client spoke, if it is not the endpoint's first one. A value of a later release is read as absent: a
   * record that cannot be read would be a charge that is not posted.
   */
  apiFormat: z.enum(['responses', 'messages']).optional().catch(undefined),
  modelAsked: text,
  modelRan: text.nullable().default(null),
  outcome: requestOutcome,
  /** Status that the client got; 499 when it left before one was sent. */
  status: z.int(),
  errorCode: text.nullable().default(null),
  stream: z.boolean().default(false),
  /** Price version of `modelRan`; `null` where nothing ran or the model is free. */
  priceId: z.uuid().nullable().default(null),
  tokens: tokenClassesSchema.default(noTokens),
  usageSource: z.enum(['provider', 'estimated', 'none']).default('none'),
  attempts: z.array(attemptSchema).max(32).default([]),
  droppedParameters: z.array(text).max(64).default([]),
  /** Output tokens of one answer that the gateway set; `null`: none. */
  outputLimit: count.nullable().default(null),
  /** Milliseconds from the last byte of the request to the first content and to the end. */
  firstContentMs: count.nullable().default(null),
  totalMs: count.default(0),
})

export type RequestRecord = z.infer<typeof requestRecordSchema>
export type Attempt = z.infer<typeof attemptSchema>

/** A record as it travels: JSON of the fields that differ from their default. `requestRecordSchema` reads it back as it was. */
export function recordText(record: RequestRecord): string {
  return JSON.stringify({
    endpoint: record.endpoint,
    apiFormat: record.apiFormat,
    modelAsked: record.modelAsked,
    modelRan: record.modelRan ?? undefined,
    outcome: record.outcome,
    status: record.status,
    errorCode: record.errorCode ?? undefined,
    stream: record.stream || undefined,
    priceId: record.priceId ?? undefined,
    tokens: tokensShown(record.tokens),
    usageSource: record.usageSource === 'none' ? undefined : record.usageSource,
    attempts: record.attempts.length === 0 ? undefined : record.attempts,
    droppedParameters: record.droppedParameters.length === 0 ? undefined : record.droppedParameters,
    outputLimit: record.outputLimit ?? undefined,
    firstContentMs: record.firstContentMs ?? undefined,
    totalMs: record.totalMs || undefined,
  })
}

function tokensShown(tokens: RequestRecord['tokens']) {
  return {
    input: tokens.input || undefined,
    cachedInput: tokens.cachedInput || undefined,
    cacheWrite: tokens.cacheWrite || undefined,
    output: tokens.output || undefined,
    reasoning: tokens.reasoning || undefined,
  }
}
