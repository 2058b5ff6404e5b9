import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { normaliseAnswer } from '#gateway/chat/internal/plain-normaliser'
import { createStepReader } from '#gateway/chat/internal/step-reader'
import {
  createStreamNormaliser,
  type StreamOptions,
  type StreamStep,
} from '#gateway/chat/internal/stream-normaliser'
import type { ApiFormat, FormatAnswer } from '#gateway/formats/api-format'
import type { ChatReading } from '#gateway/upstream/provider-adapter'
import type { OpenAiUsage } from '#gateway/wire/openai-usage'
import type { ReadChoice } from './read-choices.ts'

/** One stream of a provider with OpenAI's API and what clients shall read. */
export type StreamCase = {
  readonly name: string
  readonly n?: number
  readonly events: readonly (object | string)[]
  readonly choices?: readonly ReadChoice[]
  readonly usage?: object
  /** Of the one chunk that contains it. */
  readonly moderation?: object
  /** The chunks of a chat to the field, where that matters. */
  readonly frames?: readonly object[]
  /** The stream breaks; `choices` is what was handed out before. */
  readonly failure?: { readonly kind: string; readonly result: string }
}

const folder = join(import.meta.dirname, 'cases')
const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
/** Every case in `cases`. */
export const streamCases: readonly StreamCase[] = files.flatMap((file) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
)

/** The usage that is charged for every played stream. */
export const counted: OpenAiUsage = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
}
export const costRub = '0.25'

/** The provider's bytes as most providers send them: one read for each event, and nothing but its data. */
export function readsOf(events: StreamCase['events']): Buffer[] {
  return events.map((event) => Buffer.from(`data: ${dataOf(event)}\n\n`))
}

/** A real provider's chunk has a head; a case writes one down only where it matters. */
export function dataOf(event: StreamCase['events'][number]): string {
  if (typeof event === 'string') return event
  const head = { id: 'chatcmpl-theirs', object: 'chat.completion.chunk', created: 1, model: 'theirs' }
  return JSON.stringify('choices' in event ? { ...head, ...event } : event)
}

const naming = {
  requestId: 'ours',
  model: 'openai/gpt-4o',
  createdS: 1_800_000_000,
  origin: 'provider',
  secrets: [],
} as const

type Play = Pick<StreamOptions, 'reader' | 'format'> & Partial<StreamOptions>

/** How a stream ended, and the usage that its provider sent. */
export type Played = { readonly text: string; readonly last: StreamStep; readonly usage: unknown }

/** What a client reads of a provider's bytes that arrive in these pieces; whole only where the stream ended well. */
export function playStream(options: Play, pieces: readonly Buffer[]): Played {
  const normaliser = createStreamNormaliser({ ...naming, choices: 1, usage: 'hidden', ...options })
  let text = ''
  let last: StreamStep = { kind: 'nothing' }
  const take = (step: StreamStep) => {
    if (step.kind === 'nothing') return
    if ('text' in step) text += step.text
    last = step
  }
  const reader = createStepReader(normaliser, take)
  for (const piece of pieces) reader.push(piece)
  reader.end()
  const finished = last as StreamStep
  if (finished.kind === 'ended') text += normaliser.finishFrames(counted, costRub)
  return { text, last: finished, usage: normaliser.usage() }
}

/** What a client reads of a whole response of a provider. */
export function playWhole(
  { readAnswer }: Pick<ChatReading, 'readAnswer'>,
  answer: unknown,
  format: ApiFormat,
  names: Pick<Partial<StreamOptions>, 'origin'> = {},
): { readonly answer: FormatAnswer; readonly shown: object; readonly usage: unknown } {
  const reading = normaliseAnswer(readAnswer(JSON.stringify(answer)), { ...naming, ...names })
  if (reading.kind !== 'answer') throw new Error(reading.failure.result)
  const shown = format.answerOf(reading.answer, counted, costRub)
  return { answer: reading.answer, shown: JSON.parse(JSON.stringify(shown)), usage: reading.usage }
}

/** Where the bytes were split so that the text differed; `undefined`: nowhere. Single bytes are tried, too. */
export function findSplit(bytes: Buffer, textOf: (pieces: readonly Buffer[]) => string): string | undefined {
  const whole = textOf([bytes])
  if (textOf([...bytes].map((byte) => Buffer.of(byte))) !== whole) return 'single bytes'
  for (let at = 1; at < bytes.length; at += 1)
    if (textOf([bytes.subarray(0, at), bytes.subarray(at)]) !== whole) return `split at ${at}`
  return undefined
}
