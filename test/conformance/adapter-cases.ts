import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findExactJson } from '#gateway/wire/json-fields'
import type { ReadChoice } from './read-choices.ts'

/** What an adapter must translate, non-streaming and streaming. A cell without a case fails the test. */
export const features = [
  'text',
  'several system and developer messages',
  'names',
  'empty parts',
  'consecutive roles',
  'an image as data',
  'an image by URL',
  'no tool',
  'tools as the model decides',
  'a required tool',
  'a named tool',
  'parallel calls',
  'one call at a time',
  'whole arguments',
  'streamed arguments',
  'results of several calls in any order',
  'json_object',
  'json_schema',
  'stop',
  'reasoning_effort',
  'a given limit of output',
  'the limit of output without one',
  'n',
  'signatures',
  'hidden thinking',
  'cache_control',
  'integers beyond 2^53',
  'classes of tokens',
  'finish reasons',
  'a refusal',
  'a blocked prompt',
] as const

export const modes = ['plain', 'stream'] as const

export type Mode = (typeof modes)[number]
type Feature = (typeof features)[number]
export type Fields = { readonly [field: string]: unknown }

/** A response as the provider sends it and as the client reads it. */
type Response = {
  /** Absent: only for a stream. */
  readonly answer?: Fields
  /** Absent: only non-streaming. */
  readonly events?: readonly Fields[]
  /** The same of both. */
  readonly client: readonly ReadChoice[]
  readonly tokens: object
}

/** One request to one model and what is sent for it; the body without the model and the mode, if these are a part of it. */
type Request = {
  readonly model: string
  readonly route?: { readonly maxOutputTokens: number }
  /** Without `messages`: a request with the message `Hi`. */
  readonly request: Fields
  /** The limit that the gateway sets for a request without one. */
  readonly outputLimit?: number
  readonly sent: Fields
  readonly dropped: readonly string[]
}

/** `name`: of one of several cases of a feature. */
export type AdapterCase = { readonly feature: Feature; readonly name?: string } & Request & Response

type Named = { readonly name: string }

/** What `cases/providers` has of this provider. */
type Recorded = {
  readonly provider: { readonly api: 'Anthropic' | 'Gemini' | 'OpenAI'; readonly baseUrl: string }
  readonly requests: readonly (Omit<Request, 'dropped'> & Named)[]
  readonly answers: readonly (Pick<Response, 'answer' | 'events'> & Named)[]
}

type WrittenCase = Partial<Request> & {
  readonly feature: Feature
  readonly name?: string
  /** In place of a request: the name of a recorded one. */
  readonly recorded?: string
  /** In place of a response: the name of one of the file's. */
  readonly response?: string
  /** A text is the name of a recorded one. */
  readonly answer?: Fields | string
  readonly events?: readonly Fields[] | string
}

type File = {
  readonly responses: Readonly<Record<string, Response>>
  readonly cases: readonly WrittenCase[]
  /** Why a feature has no case. */
  readonly none: Readonly<Partial<Record<Feature, Readonly<Partial<Record<Mode, string>>>>>>
}

const folder = join(import.meta.dirname, 'cases')
// The files are part of the tests; what is wrong in them fails a test.
const readCases = (path: string) => findExactJson(readFileSync(join(folder, path), 'utf8')) as never

/** An adapter's cases, complete. */
export function adapterCases(
  name: 'anthropic' | 'gemini' | 'responses',
  kind: 'anthropic' | 'gemini-native' | 'openai-responses',
) {
  const recorded: Recorded = readCases(`providers/${kind}.json`)
  const { responses, cases, none }: File = readCases(`adapters/${name}.json`)
  const complete = ({ recorded: request, response, answer, events, ...given }: WrittenCase) => ({
    ...(request === undefined ? {} : { dropped: [], ...named(recorded.requests, request), name: undefined }),
    ...(response === undefined ? {} : responses[response]),
    ...given,
    ...(answer === undefined
      ? {}
      : { answer: typeof answer === 'string' ? named(recorded.answers, answer).answer : answer }),
    ...(events === undefined
      ? {}
      : { events: typeof events === 'string' ? named(recorded.answers, events).events : events }),
  })
  // The test compares every field, so one that is missing in a file fails it.
  return {
    kind,
    provider: recorded.provider,
    none,
    cases: cases.map((given) => complete(given) as AdapterCase),
  }
}

function named<Item extends Named>(items: readonly Item[], name: string): Item {
  const found = items.find((item) => item.name === name)
  if (found === undefined) throw new Error(`no recorded case has the name: ${name}`)
  return found
}
