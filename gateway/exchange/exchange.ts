import type { ServerResponse } from 'node:http'
import type { Candidate } from '#core/admission/admission'
import type { Admitted, Hold } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import type { ApiFormat } from '../formats/api-format.ts'
import type { Caller } from '../http/authenticate.ts'
import type { ExchangeReport } from '../http/request-end.ts'
import type { ChatRequest } from '../requests/chat-request.ts'
import type { DroppedField } from '../requests/dropped-field.ts'
import type { EmbeddingInputs, EmbeddingRequest } from '../requests/embedding-request.ts'
import type { Route } from '../routing/route-table.ts'
import type { PromptContent } from '../tokens/prompt-content.ts'
import type { Prompt } from '../tokens/token-estimate.ts'
import type { OwnRequest } from '../upstream/provider-adapter.ts'

/** The options in the headers of a request. */
export type RequestOptions = {
  readonly maxCostNano: bigint | null
  /** Reject rather than drop a parameter that the model does not support. */
  readonly strictParameters: boolean
  readonly fallbacks: 'allowed' | 'none'
  /** The caller's own deadline; never longer than the route's. */
  readonly timeoutMs: number | null
  /** The client's name of its session, whose requests go to one backend where possible. */
  readonly session: string | null
}

/** A model that may serve the request, and what it may cost there. */
export type RouteCandidate = Omit<Candidate, 'model'> & {
  readonly route: Route
  /** The most prompt tokens that are believed and billed; `null`: the model is free, and nothing bounds them. */
  readonly promptTokensMax: number | null
}

/** The model asked for first, then its direct fallbacks that this organization may use and the cap allows. */
export type Candidates = readonly [RouteCandidate, ...RouteCandidate[]]

/** The fields of every exchange, for any operation. */
type ExchangeFields = {
  /** UUIDv7; also the id of its hold, charge and record. */
  readonly requestId: string
  /** `performance.now()` when its body had been read: from then on count its deadline, its timings and our overhead. */
  readonly startedAtMs: number
  readonly caller: Caller
  /** The API that the client speaks. */
  readonly format: ApiFormat
  /** Fields of the client's request that have no place in a chat request; absent: none. */
  readonly dropped?: readonly DroppedField[]
  /** Whether the answer comes whole or as it grows. */
  readonly mode: 'plain' | 'stream'
  /** How many answers are asked for; none where nothing is generated. */
  readonly choices: number
  readonly bodyBytes: number
  /** The bounds of its prompt. */
  readonly content: PromptContent
  /** Estimated prompt tokens, for a bill that no provider's count makes; worked out when first asked for. */
  readonly estimatePrompt: () => number
  /** Takes the prompt apart, so that its tokens can be counted. */
  readonly readPrompt: () => Prompt
  readonly options: RequestOptions
  readonly candidates: Candidates
  /** The same by the measured prompt, for a request whose bound does not fit; `null`: measuring would bound nothing more tightly. */
  readonly measureCandidates: (() => Promise<Candidates | undefined>) | null
  /** Hijacked: its holder writes the whole response (`http/answer.ts`) and watches it for `close`. */
  readonly raw: ServerResponse
}

/**
 * A request as the client sent it, without nulls that mean "not set"; and what it is for. `nativeOnly`: why only backends that
 * speak the client's API can serve it.
 */
export type Asked =
  | ({
      readonly endpoint: 'chat'
      readonly bindTo?: BindChat
      /** The same as the client sent it, for backends that speak its API; absent: there are none. */
      readonly own?: OwnRequest
      readonly nativeOnly?: Refusal
    } & BoundChat)
  | {
      readonly endpoint: 'embeddings'
      readonly request: EmbeddingRequest
      readonly inputs: EmbeddingInputs
      /** Expected tokens of each of them. */
      readonly inputTokens: readonly number[]
      /** The same as texts, where some provider needs that and they came as tokens. */
      readonly texts: readonly string[] | null
    }

/** A chat as one organization has it. */
type BoundChat = {
  readonly request: ChatRequest
  /** The mark of the provider that signed its last reasoning: only that one can continue it; absent: none did. */
  readonly signedBy?: string
}

/** A chat that was decrypted, and how its client's own request can be. */
export type BoundExchange = BoundChat & {
  readonly format: ApiFormat
  readonly findSigned?: OwnRequest['findSigned']
}

/** Whose request it is, and for how long its response is stored; 0 hours: it is not. */
export type KeyOwner = Pick<Hold, 'organizationId' | 'keyId'> & Pick<Admitted, 'keepsResponsesHours'>

/**
 * Decrypts what is encrypted for the organization, which admission reveals. Nothing that a client sent makes it fail. Absent
 * from an exchange: nothing is encrypted.
 */
export type BindChat = (owner: KeyOwner) => BoundExchange | Promise<BoundExchange>

/** One valid request, on its way from the HTTP shell to `complete.ts`, which answers it. */
export type Exchange = ExchangeFields & Asked

/**
 * Admits, serves, settles and answers one request.
 *
 * Resolves once all its work is done, even if the client disconnected. Throws only on a bug: the shell then
 * responds with 500, or cuts the connection if a response had begun.
 */
export type CompleteExchange = (exchange: Exchange) => Promise<ExchangeReport>
