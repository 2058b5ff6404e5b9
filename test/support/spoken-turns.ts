import {
  message,
  messageStream,
  streamed as streamedEvents,
  streamedMessage,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from './anthropic.ts'
import { goodStream, plain, type Script, type Step, streamHeaders } from './upstream.ts'

/** An answer of a model, whatever API its provider has. */
export type SpokenTurn =
  | {
      readonly thought?: string
      readonly text?: string
      readonly refusal?: string
      readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: object }[]
      readonly end?: 'length'
    }
  /** Steps of a stream of OpenAI's. */
  | { readonly steps: readonly Step[] }

export type BackendKind = 'OpenAI' | 'Anthropic'

/** The script of a provider whose model answers so. */
export function speak(kind: BackendKind, way: 'whole' | 'streamed', turn: SpokenTurn): Script {
  if ('steps' in turn) return { headers: streamHeaders, steps: turn.steps }
  return kind === 'OpenAI' ? speakOpenAi(way, turn) : speakAnthropic(way, turn)
}

type Words = Exclude<SpokenTurn, { readonly steps: unknown }>

function speakOpenAi(way: 'whole' | 'streamed', { thought, text, refusal, calls = [], end }: Words): Script {
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
    return plain('', { choices: [choice] })
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
  return { headers: streamHeaders, steps: [role, ...pieces, ...halves, finish(reason), usage(), done] }
}

function speakAnthropic(
  way: 'whole' | 'streamed',
  { thought, text, refusal, calls = [], end }: Words,
): Script {
  const blocks = [
    ...(thought === undefined ? [] : [thinkingBlock(thought)]),
    ...(text === undefined ? [] : [textBlock(text)]),
    ...calls.map(({ id, name, arguments: given }) => toolUseBlock(id, name, given)),
  ]
  const ending =
    refusal === undefined
      ? {}
      : { stop_reason: 'refusal', stop_details: { type: 'refusal', explanation: refusal } }
  const stopped = end === undefined ? ending : { stop_reason: 'max_tokens' }
  if (way === 'whole') return message(blocks, stopped)
  if (refusal === undefined)
    return streamedMessage(blocks, end === undefined ? {} : { stopReason: 'max_tokens' })
  const { start, finish, stop } = messageStream
  return streamedEvents([start({}), finish('refusal', {}, ending), stop])
}
