import type { ServerResponse } from 'node:http'
import type { KeyHash } from '#cabinet/key'
import type { RequestRecord } from '#cabinet/request-record'
import type { Shard } from '#cabinet/shard'
import type { ChatRequest } from '../chat/chat-request.ts'
import type { EmbeddingInputs, EmbeddingRequest } from '../embeddings/embedding-request.ts'
import type { Route } from '../routing/route-table.ts'
import type { Prompt } from './token-estimate.ts'

/** Who calls, as far as the key's text says; whether the key exists, only Redis knows. */
export type Caller = { readonly shard: Shard; readonly credential: KeyHash }

/** What the `x-gateway-*` headers of a request ask for. */
export type RequestOptions = {
  readonly maxCostNano: bigint | null
  /** Refuse rather than drop a parameter that the model does not support. */
  readonly strictParameters: boolean
  readonly fallbacks: 'allowed' | 'none'
  /** The caller's own deadline; never longer than the route's. */
  readonly timeoutMs: number | null
}

/** A model that may serve the request, and the most that is expected of it there. */
type RouteCandidate = {
  readonly route: Route
  readonly holdNano: bigint
  /** Tokens for TPM: the estimated prompt and the whole output. */
  readonly tokens: number
}

/** What is the same in every exchange, whatever is asked for. */
type ExchangeFields = {
  /** UUIDv7; also the id of its hold, charge and record. */
  readonly requestId: string
  /** `performance.now()` when its headers had been read. */
  readonly startedAtMs: number
  readonly caller: Caller
  /** Whether the answer comes whole or as it grows. */
  readonly mode: 'plain' | 'stream'
  /** How many answers are asked for; none where nothing is generated. */
  readonly choices: number
  readonly bodyBytes: number
  /** Every content part is text: only then does `bodyBytes` bound the prompt's tokens. */
  readonly allText: boolean
  /** Estimated prompt tokens. */
  readonly promptTokens: number
  /** Takes the prompt apart, for whoever has to count it. */
  readonly readPrompt: () => Prompt
  readonly options: RequestOptions
  /** The model asked for first, then its direct fallbacks that this organization may use and the cap allows. */
  readonly candidates: readonly [RouteCandidate, ...RouteCandidate[]]
  /** Hijacked: whoever holds it writes the whole answer (`http/answer.ts`) and watches it for `close`. */
  readonly raw: ServerResponse
}

/** A request as the client sent it, without nulls that mean "not set"; and what it is for. */
export type Asked =
  | { readonly endpoint: 'chat'; readonly request: ChatRequest }
  | {
      readonly endpoint: 'embeddings'
      readonly request: EmbeddingRequest
      readonly inputs: EmbeddingInputs
      /** The same as texts, where some provider needs that and they came as tokens. */
      readonly texts: readonly string[] | null
    }

/** One valid request, on its way from the HTTP shell to `complete.ts`, which answers it. */
export type Exchange = ExchangeFields & Asked

/** What the log line and the metrics of one answered request say. */
export type ExchangeReport = {
  readonly status: number
  /** Closed words: a record's outcome, or `refused` when nothing was admitted. */
  readonly outcome: string
  readonly code: string | null
  readonly organizationId: string | null
  readonly keyId: string | null
  readonly modelRan: string | null
  readonly attempts: number
  readonly costNano: bigint | null
  /** What was recorded of an admitted request: for the metrics of attempts, tokens and first content. */
  readonly record?: RequestRecord
  /** Milliseconds that were not spent waiting for providers. */
  readonly overheadMs?: number
}

/**
 * Admits, serves, settles and answers one request.
 *
 * Resolves once everything about it is done, whoever left in between. Throws only on a bug: the shell then
 * answers 500, or cuts the connection when an answer had begun.
 */
export type CompleteExchange = (exchange: Exchange) => Promise<ExchangeReport>
