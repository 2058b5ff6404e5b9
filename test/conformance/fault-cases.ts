import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Script, Step } from '../support/upstream.ts'

/** One fault of a provider, in each mode: what it does, and what has to come of it. */
export type Fault = {
  readonly name: string
  /** Where the provider is, if not at the scripted server. */
  readonly provider?: 'gone' | 'silent' | 'untrusted' | 'refused'
  readonly plain: Cell
  readonly stream: Cell
}

type Cell = { readonly script?: WrittenScript } & Outcome

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

export type WrittenScript = Omit<Script, 'steps'> & { readonly steps?: readonly WrittenStep[] }
export type WrittenStep =
  | Exclude<Step, { trickle: string } | { until: unknown }>
  | { readonly json: unknown }
  | { readonly say: string }
  | { readonly role: true }
  | { readonly finish: string }
  | { readonly usage: true }
  | { readonly done: true }
  /** One every 300 ms, for longer than any time-out of these tests. */
  | { readonly comments: 'forever' }
  | { readonly plain: string; readonly fields?: object }
  | { readonly trickle: 'plain' | 'stream' }

const folder = join(import.meta.dirname, 'cases', 'faults')
/** Every case in `cases/faults`. */
export const faults: readonly Fault[] = readdirSync(folder).flatMap((file) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
)
