import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Script, Step } from '../support/upstream.ts'

/** The APIs of providers that have an adapter. */
export const apis = ['OpenAI', 'Anthropic', 'Gemini'] as const
export type Api = (typeof apis)[number]

/** Those, and OpenAI's Responses API: for chats, and for clients of the same API. */
export const faultyApis = [...apis, 'Responses'] as const
export type FaultyApi = (typeof faultyApis)[number]

/** One fault of a provider, in each mode that has it: what it does, and what has to come of it. */
export type Fault = {
  readonly name: string
  /** Those whose providers have it; all, where there is no list. */
  readonly apis?: readonly FaultyApi[]
  /** Where the provider is, if not at the scripted server. */
  readonly provider?: 'gone' | 'silent' | 'untrusted' | 'refused'
  readonly plain?: Cell
  readonly stream?: Cell
}

/** What a provider does in one mode, and the outcome. */
export type Cell = { readonly script?: WrittenScript } & Outcome

export type Outcome =
  /** The client has received nothing yet: a fallback answers instead, or the client gets this error. */
  | {
      readonly refusal: string
      readonly result: string
      readonly tries: number
      /** Where no other place is left: one that was silent is asked again only then, if time is left. */
      readonly triesAlone?: number
      readonly retryAfter?: string
      readonly says?: string
      /** `same`: no other model is asked. */
      readonly fallback?: 'same'
    }
  /** Harmless. */
  | { readonly answer: string; readonly charged: 'usage' | 'estimate' }
  /** The stream had begun: this text, then an error inside it. */
  | { readonly cut: string; readonly result: string; readonly code: string }

/** The error in a stream of the Responses API: of a rejection, and of a stream that had begun. */
export const responsesCodes: Readonly<Record<string, string>> = {
  '400 content_policy_violation': 'invalid_prompt',
  '400 context_length_exceeded': 'context_length_exceeded',
  '400 invalid_value': 'invalid_prompt',
  '502 upstream_error': 'server_is_overloaded',
  '503 upstream_overloaded': 'server_is_overloaded',
  '504 upstream_timeout': 'server_is_overloaded',
  upstream_error: 'server_error',
  upstream_timeout: 'server_error',
}

/** The type of the error in the Messages API, likewise. */
export const messagesTypes: Readonly<Record<string, string>> = {
  '400 content_policy_violation': 'invalid_request_error',
  '400 context_length_exceeded': 'invalid_request_error',
  '400 invalid_value': 'invalid_request_error',
  '502 upstream_error': 'api_error',
  '503 upstream_overloaded': 'overloaded_error',
  '504 upstream_timeout': 'timeout_error',
  upstream_error: 'api_error',
  upstream_timeout: 'timeout_error',
}

export type WrittenScript = Omit<Script, 'steps'> & { readonly steps?: readonly WrittenStep[] }
export type WrittenStep =
  /** These bytes, whatever the API. */
  Exclude<Step, { trickle: string }> | { readonly json: unknown } | SpokenStep

/** What `fault-apis.ts` writes as a provider of each API does. */
export type SpokenStep =
  /** The first event of a stream, without content. */
  | { readonly role: true }
  | { readonly say: string }
  | End
  | { readonly done: true }
  /** One every 300 ms, for longer than any time-out of these tests. */
  | { readonly signsOfLife: 'forever' }
  /** Events, parts and fields of types that are not invented yet. */
  | { readonly unknown: true }
  /** An error of `as`, else of the script's status: OpenAI's fields. `words`: as others put it. */
  | {
      readonly error: ErrorFields
      readonly as?: number
      readonly words?: Readonly<Partial<Record<FaultyApi, string>>>
    }
  /** A whole response; null: without content. */
  | ({ readonly plain: string | null; readonly fields?: object } & Lacks)
  /** Half of one: up to the end of this text. */
  | { readonly half: string }
  /** A whole response whose content has a wrong type. */
  | { readonly malformed: true }
  | { readonly trickle: 'plain' | 'stream' }

/** What a provider counts wrongly: less than nothing, more output than any limit here, more prompt than it was sent. */
export type Miscount = 'impossible' | 'beyond the limit' | 'beyond the prompt'
export type End = { readonly finish?: 'stop'; readonly usage?: true | Miscount }
/** Parts of a whole response that are missing, or wrong. */
export type Lacks = { readonly finish?: null; readonly usage?: null | Miscount }
export type ErrorFields = {
  readonly message: string
  readonly type?: string
  readonly code?: string | number | null
}

const folder = join(import.meta.dirname, 'cases', 'faults')
/** Every case in `cases/faults`. */
export const faults: readonly Fault[] = readdirSync(folder).flatMap((file) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
)
