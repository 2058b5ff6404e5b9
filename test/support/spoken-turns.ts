import {
  message,
  messageStream,
  streamed as streamedEvents,
  streamedMessage,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from './anthropic.ts'
import { geminiChunk, geminiStream, generated } from './gemini-answers.ts'
import { geminiSignature } from './gemini-signature.ts'
import { speakResponses, type Words } from './spoken-responses.ts'
import { type Answer, goodStream, plain, type Script, type Step, streamHeaders } from './upstream.ts'

/** An answer of a model, whatever API its provider has. */
export type SpokenTurn =
  | Words
  /** Steps of a stream of OpenAI's. */
  | { readonly steps: readonly Step[] }
  /** The provider fails, by default with an empty body. */
  | { readonly status: number; readonly body?: object }

export const backendKinds = ['OpenAI', 'Anthropic', 'Gemini'] as const
/** Those, and OpenAI's Responses API: relayed for its own clients, translated for all others. */
export const everyBackendKind = [...backendKinds, 'Responses'] as const
export type BackendKind = (typeof everyBackendKind)[number]

/** How a client takes a response. */
export const ways = ['whole', 'streamed'] as const
export type Way = (typeof ways)[number]

export const everyKindAndWay = backendKinds.flatMap((kind) => ways.map((way) => [kind, way] as const))

/** The answer of a provider whose model answers so, in the way that it is asked for. */
export function spoken(kind: BackendKind, turn: SpokenTurn): Answer {
  return ({ path, body }) => {
    const isStreamed = body.stream === true || path.includes('streamGenerateContent')
    if (kind === 'Responses' && isWords(turn)) return speakResponses(body, turn)
    return speak(kind, isStreamed ? 'streamed' : 'whole', turn)
  }
}

function isWords(turn: SpokenTurn): turn is Words {
  return !('steps' in turn || 'status' in turn)
}

function speak(kind: BackendKind, way: 'whole' | 'streamed', turn: SpokenTurn): Script {
  if ('steps' in turn) return { headers: streamHeaders, steps: turn.steps }
  if ('status' in turn) return { status: turn.status, steps: [{ send: JSON.stringify(turn.body ?? {}) }] }
  if (kind === 'Gemini') return speakGemini(way, turn)
  return kind === 'OpenAI' ? speakOpenAi(way, turn) : speakAnthropic(way, turn)
}

function speakOpenAi(
  way: 'whole' | 'streamed',
  { thought, text, refusal, calls = [], end, inputTokens = 10 }: Words,
): Script {
  const counts = { prompt_tokens: inputTokens, completion_tokens: 5, total_tokens: inputTokens + 5 }
  const reason = end ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  const called = calls.map(({ id, name, arguments: given }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }))
  const said = {
    ...(thought === undefined ? {} : { reasoning_content: thought }),
    ...(text === undefined ? {} : { content: text }),
    ...(refusal === undefined ? {} : { refusal }),
  }
  if (way === 'whole') {
    const choice = {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        ...said,
        ...(called.length === 0 ? {} : { tool_calls: called }),
      },
      finish_reason: reason,
    }
    return plain('', { choices: [choice], usage: counts })
  }
  const { role, delta, finish, usage, done } = goodStream
  const halves = called.flatMap((call) => {
    const { arguments: written } = call.function
    const middle = Math.ceil(written.length / 2)
    return [
      delta({
        tool_calls: [{ ...call, function: { ...call.function, arguments: written.slice(0, middle) } }],
      }),
      delta({ tool_calls: [{ index: call.index, function: { arguments: written.slice(middle) } }] }),
    ]
  })
  const pieces = Object.entries(said).map(([field, value]) => delta({ [field]: value }))
  return { headers: streamHeaders, steps: [role, ...pieces, ...halves, finish(reason), usage(counts), done] }
}

function speakAnthropic(
  way: 'whole' | 'streamed',
  { thought, text, refusal, calls = [], end, inputTokens }: Words,
): Script {
  const counted = inputTokens === undefined ? {} : { usage: { input_tokens: inputTokens } }
  const blocks = [
    ...(thought === undefined ? [] : [thinkingBlock(thought)]),
    ...(text === undefined ? [] : [textBlock(text)]),
    ...calls.map(({ id, name, arguments: given }) => toolUseBlock(id, name, given)),
  ]
  const ending =
    refusal === undefined
      ? {}
      : { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: refusal } }
  const stopped = end === undefined ? ending : { stop_reason: 'max_tokens' }
  if (way === 'whole') return message(blocks, stopped)
  if (refusal === undefined)
    return streamedMessage(blocks, { ...counted, ...(end === undefined ? {} : { stopReason: 'max_tokens' }) })
  const { start, finish, stop } = messageStream
  return streamedEvents([start({}), finish('refusal', {}, ending), stop])
}

/** Gemini has no words for a refusal: the answer ends for safety. */
function speakGemini(
  way: 'whole' | 'streamed',
  { thought, text, refusal, calls = [], end, inputTokens = 10 }: Words,
): Script {
  const finishReason = refusal === undefined ? (end === undefined ? 'STOP' : 'MAX_TOKENS') : 'SAFETY'
  const usageMetadata = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: 3,
    thoughtsTokenCount: 2,
    totalTokenCount: inputTokens + 5,
  }
  const parts = [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ id, name, arguments: args }, at) => ({
      functionCall: { id, name, args },
      ...(at === 0 ? { thoughtSignature: geminiSignature(id) } : {}),
    })),
  ]
  if (way === 'whole') {
    const candidates = [{ content: { parts, role: 'model' }, finishReason, index: 0 }]
    return generated(parts, { candidates, usageMetadata })
  }
  const chunks = parts.map((part) => geminiChunk.parts([part]))
  return geminiStream([...chunks, geminiChunk.finish(finishReason, usageMetadata)])
}
