import type { DeliveredMedia, Generated } from '../../exchange/delivered-text.ts'
import type { ApiFormat, FormatAnswer } from '../../formats/api-format.ts'
import { type Failure, failureOfBadAnswer, failureOfErrorBody } from '../../upstream/failure.ts'
import type { WholeAnswer } from '../../upstream/provider-adapter.ts'
import { type SecretSearch, searchFor } from '../../upstream/secret-search.ts'
import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import {
  argumentsOf,
  extrasOf,
  findSigned,
  finishReasonOf,
  logprobsOf,
  measureAudio,
  measurePassedOn,
  notesOf,
  readSaid,
  reasoningText,
  type Said,
  stopSequenceOf,
  textOfTokens,
} from './answer-fields.ts'

export type PlainOptions = {
  readonly requestId: string
  /** The model that ran, by the name that clients use. */
  readonly model: string
  readonly createdS: number
  /** The mark of the provider. */
  readonly origin: string
  /** The provider's credential, in every form: the client never reads it. */
  readonly secrets: readonly string[]
}

export type PlainReading =
  | {
      readonly kind: 'answer'
      /** The answer without its usage; its choices have every field that OpenAI's schema requires. */
      readonly answer: FormatAnswer
      /** The provider's usage as it came; `undefined` when none came. */
      readonly usage: unknown
      /** The generated content, for an estimate if usage is missing. */
      readonly generated: Generated
    }
  | { readonly kind: 'bad_answer'; readonly failure: Failure }

/** Turns a provider's whole answer, of status 2xx, into the one that strict clients expect. Never throws. */
export function normaliseAnswer(reading: WholeAnswer, options: PlainOptions): PlainReading {
  if (reading.kind === 'failed') return { kind: 'bad_answer', failure: reading.failure }
  const { answer, usage } = reading
  const given = itemsOf(answer.choices)
  if (given.length === 0) return bad('empty_answer')
  const choices: Choice[] = []
  const indexes = indexesOf(given)
  const search = searchFor(options.secrets)
  for (const [position, item] of given.entries()) {
    const choice = readChoice(item, indexes[position] ?? position, options.requestId, search)
    if (typeof choice === 'string')
      return choice === 'failed' ? failedAnswer(answer) : bad('malformed_answer')
    choices.push(choice)
  }
  choices.sort((a, b) => a.index - b.index)
  const { requestId, createdS, model, origin } = options
  const extras = { ...extrasOf(answer), ...notesOf(answer) }
  return {
    kind: 'answer',
    answer: {
      requestId,
      createdS,
      model,
      origin,
      extras,
      choices: choices.map(({ shown }) => shown),
      stopSequence: choices[0]?.stopSequence,
    },
    usage,
    generated: {
      output: choices.map(({ output }) => output).join(''),
      reasoning: choices.map(({ reasoning }) => reasoning).join(''),
      media: {
        images: choices.reduce((sum, { media }) => sum + media.images, 0),
        soundLength: choices.reduce((sum, { media }) => sum + media.soundLength, 0),
        opaqueLength: choices.reduce((sum, { media }) => sum + media.opaqueLength, 0),
      },
    },
  }
}

/** The whole answer as JSON, with the usage that is charged, its cost, and without the provider's secrets. */
export function writeAnswer(
  format: ApiFormat,
  answer: FormatAnswer,
  { usage, costRub }: { readonly usage: OpenAiUsage; readonly costRub: string },
  secrets: readonly string[],
): string {
  const search = searchFor(secrets)
  const written = format.answerOf(answer, usage, costRub)
  return search === undefined ? JSON.stringify(written) : search.write(written)
}

/** The first part of each choice's texts, as if it had ended there for its length; the very same answer where `share` is 1. */
export function cutAnswer(answer: FormatAnswer, share: number): FormatAnswer {
  if (share >= 1) return answer
  const choices = answer.choices.map((choice) => cutChoice(choice, share))
  return { ...answer, choices, stopSequence: undefined }
}

/** Half a call could not be made, and no part of a signed or encoded text is worth anything. */
function cutChoice(choice: JsonObject, share: number): JsonObject {
  const { content, refusal, reasoning_content } = fieldsOf(choice.message) ?? {}
  const cut = (text: unknown) =>
    typeof text === 'string' ? text.slice(0, Math.floor(text.length * share)) : null
  const reasoning = cut(reasoning_content)
  const message = {
    role: 'assistant',
    content: cut(content),
    refusal: cut(refusal),
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
  }
  return { ...choice, message, logprobs: null, finish_reason: 'length' }
}

type Choice = {
  readonly index: number
  readonly shown: JsonObject
  readonly stopSequence: string | undefined
  readonly output: string
  readonly reasoning: string
  readonly media: DeliveredMedia
}

/**
 * Each choice's own index; their places if the provider numbers them wrongly, as some do that send 0 for
 * each.
 */
function indexesOf(choices: readonly unknown[]): readonly number[] {
  const said = choices.map((choice) => fieldsOf(choice)?.index)
  const right = new Set(said.filter((index) => Number.isInteger(index) && Number(index) >= 0))
  return right.size === choices.length ? said.map(Number) : [...choices.keys()]
}

function readChoice(
  item: unknown,
  index: number,
  requestId: string,
  search: SecretSearch | undefined,
): Choice | 'malformed' | 'failed' {
  const given = fieldsOf(item)
  const message = fieldsOf(given?.message)
  const said = message && readSaid(message)
  if (given === undefined || message === undefined || said === undefined) return 'malformed'
  const calls = readToolCalls(
    message.tool_calls ?? [],
    (call) => `call_chatcmpl-${requestId}_${index}_${call}`,
  )
  const call = fieldsOf(message.function_call)
  const functionCall = call === undefined ? null : readFunction(call)
  if (calls === undefined || functionCall === undefined) return 'malformed'
  const reason = finishReasonOf(typeof given.finish_reason === 'string' ? given.finish_reason : 'stop', {
    tools: calls.length > 0,
    function: functionCall !== null,
  })
  if (reason === 'failed') return 'failed'
  const sound = measureAudio(said.audio ?? {})
  const thought = measurePassedOn(said.details)
  const passedOn = measurePassedOn([said.annotations, said.signed])
  const called = [...calls, functionCall].filter((made) => made !== null)
  return {
    index,
    shown: {
      index,
      message: {
        ...shownOf(said),
        ...(calls.length > 0 ? { tool_calls: withSignatures(calls, message.tool_calls) } : {}),
        ...(functionCall === null ? {} : { function_call: functionCall }),
        ...(Array.isArray(message.annotations) ? { annotations: message.annotations } : {}),
      },
      logprobs: shownLogprobs(given.logprobs, search),
      finish_reason: reason,
    },
    stopSequence: stopSequenceOf(given),
    output: `${said.content ?? ''}${said.refusal ?? ''}${sound.words}${passedOn.text}${called.length > 0 ? JSON.stringify(called) : ''}`,
    reasoning: reasoningText(said.reasoning, thought),
    media: {
      images: said.images.length,
      soundLength: sound.length,
      opaqueLength: thought.opaqueLength + passedOn.opaqueLength,
    },
  }
}

/** Tokens would spell out what the text hides. */
function shownLogprobs(given: unknown, search: SecretSearch | undefined): JsonObject | null {
  const logprobs = logprobsOf(given)
  if (logprobs === null || search === undefined) return logprobs
  const texts = [logprobs.content, logprobs.refusal].map((tokens) => textOfTokens(itemsOf(tokens)))
  return texts.some((text) => search.find(text, 0) !== undefined) ? null : logprobs
}

function shownOf({ content, refusal, reasoning, details, signed, images, audio }: Said): JsonObject {
  return {
    role: 'assistant',
    content,
    refusal,
    ...(reasoning ? { reasoning_content: reasoning } : {}),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...signed,
    ...(images.length > 0 ? { images } : {}),
    ...(audio === undefined ? {} : { audio }),
  }
}

/** The calls, each with the signature that it came with. */
function withSignatures(calls: readonly JsonObject[], given: unknown): readonly JsonObject[] {
  const items = itemsOf(given)
  return calls.map((call, position) => ({ ...call, ...findSigned(fieldsOf(items[position]) ?? {}) }))
}

function readToolCalls(given: unknown, makeId: (call: number) => string): JsonObject[] | undefined {
  if (!Array.isArray(given)) return undefined
  const calls: JsonObject[] = []
  for (const [position, item] of given.entries()) {
    const call = fieldsOf(item)
    const custom = fieldsOf(call?.custom)
    const id = typeof call?.id === 'string' && call.id !== '' ? call.id : makeId(position)
    const input = argumentsOf(custom?.input)
    if (typeof custom?.name === 'string' && input !== undefined) {
      calls.push({ id, type: 'custom', custom: { name: custom.name, input } })
      continue
    }
    const named = readFunction(fieldsOf(call?.function) ?? {})
    if (named === undefined) return undefined
    calls.push({ id, type: 'function', function: named })
  }
  return calls
}

/** A function and its arguments as JSON text, `{}` if there are none; `undefined` if it cannot be called. */
function readFunction(given: JsonObject): JsonObject | undefined {
  const { name } = given
  const written = argumentsOf(given.arguments)
  if (typeof name !== 'string' || name === '' || written === undefined) return undefined
  return { name, arguments: written || '{}' }
}

function bad(result: string): PlainReading {
  return { kind: 'bad_answer', failure: failureOfBadAnswer(result) }
}

function failedAnswer(answer: unknown): PlainReading {
  return { kind: 'bad_answer', failure: failureOfErrorBody(answer, 'error_in_answer') }
}
