import { errorBody } from '#core/errors/refusal'
import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import type { ApiFormat, FormatStream, StreamWriter } from './api-format.ts'
import type { CallPart, CallStart, ContentStep } from './content-step.ts'

/** OpenAI's chat completions. */
export const chatFormat: ApiFormat = {
  name: 'chat_completions',
  idOf: (requestId) => `chatcmpl-${requestId}`,
  keepAlive: ': keep-alive\n\n',
  parameterOf: (path) => path,
  writeError: errorBody,
  /** SDKs raise on it. */
  writeStreamError: (refusal, requestId) => `data: ${errorBody(refusal, requestId)}\n\n`,
  answerOf: ({ requestId, model, createdS: created, extras, choices }, usage) => ({
    id: chatFormat.idOf(requestId),
    object: 'chat.completion',
    created,
    model,
    ...extras,
    choices,
    usage,
  }),
  createStreamWriter: (stream) => new ChatStreamWriter(stream),
}

/** The inside of a chunk's choice after its index, as JSON text: `"delta":{…},"finish_reason":…`. */
type Piece = string

class ChatStreamWriter implements StreamWriter {
  readonly #stream: FormatStream
  #extras: JsonObject = {}
  /** The beginning of every chunk, made at the first one. */
  #head = ''
  readonly #tail: string
  /** Choices whose role was written: always the first so many. */
  #openCount = 0

  constructor(stream: FormatStream) {
    this.#stream = stream
    this.#tail = stream.usage === 'shown' ? '}],"usage":null}\n\n' : '}]}\n\n'
  }

  note(extras: JsonObject): void {
    this.#extras = extras
  }

  write(choice: number, steps: readonly ContentStep[]): string {
    let text = this.#openUpTo(choice, steps)
    for (const step of steps) text += this.#frame(choice, pieceOf(step))
    return text
  }

  textFrame(choice: number): ((text: string) => string) | undefined {
    if (choice >= this.#openCount) return undefined
    const before = `${this.#headText()}{"index":${choice},"delta":{"content":"`
    const after = `"},"finish_reason":null${this.#tail}`
    return (text) => before + text + after
  }

  /** The moderation result is in a separate chunk, and never after the usage: SDKs take the last chunk's, and it would be null. */
  end(usage: OpenAiUsage, costRub: string, moderation: JsonObject | undefined): string {
    const { usage: shown, writeJson } = this.#stream
    const empty = shown === 'shown' ? ',"usage":null' : ''
    const moderated =
      moderation === undefined
        ? ''
        : `${this.#headText()}],"moderation":${writeJson(moderation)}${empty}}\n\n`
    const counted =
      shown === 'shown'
        ? `${this.#headText()}],"usage":${JSON.stringify({ ...usage, cost_rub: costRub })}}\n\n`
        : ''
    return `${moderated}${counted}data: [DONE]\n\n`
  }

  /** Roles, once each, of this choice and of all before it: SDKs append choices in the order in which they come. */
  #openUpTo(choice: number, steps: readonly ContentStep[]): string {
    let text = ''
    for (; this.#openCount <= choice; this.#openCount += 1) {
      const calls = this.#openCount === choice && steps.some(({ kind }) => kind === 'call')
      text += this.#frame(this.#openCount, rolePiece(calls ? 'call' : 'text'))
    }
    return text
  }

  #frame(choice: number, piece: Piece): string {
    return `${this.#headText()}{"index":${choice},${piece}${this.#tail}`
  }

  #headText(): string {
    this.#head ||= this.#makeHead()
    return this.#head
  }

  #makeHead(): string {
    const { requestId, createdS: created, model, writeJson } = this.#stream
    const id = chatFormat.idOf(requestId)
    const fields = writeJson({ id, object: 'chat.completion.chunk', created, model, ...this.#extras })
    return `data: ${fields.slice(0, -1)},"choices":[`
  }
}

/** The first piece of every choice. OpenAI's content is null where a tool call follows, else ''. */
function rolePiece(follows: 'text' | 'call'): Piece {
  const content = follows === 'call' ? 'null' : '""'
  return `"delta":{"role":"assistant","content":${content},"refusal":null},"finish_reason":null`
}

function pieceOf(step: ContentStep): Piece {
  switch (step.kind) {
    case 'text':
      return step.signed === undefined && step.logprobs === null
        ? `"delta":{"content":${JSON.stringify(step.text)}},"finish_reason":null`
        : deltaPiece({ content: step.text, ...fieldsOf(step.signed) }, step.logprobs)
    case 'reasoning':
      return deltaPiece({ reasoning_content: step.text })
    case 'details':
      return deltaPiece({ reasoning_details: step.details })
    case 'signed':
      return deltaPiece(step.signed)
    case 'refusal':
      return deltaPiece({ refusal: step.text })
    case 'annotations':
      return deltaPiece({ annotations: step.annotations })
    case 'images':
      return deltaPiece({ images: step.images })
    case 'audio':
      return deltaPiece({ audio: step.audio })
    case 'call':
      return deltaPiece({ tool_calls: [startOf(step.call)] })
    case 'call_part':
      return deltaPiece({ tool_calls: [partOf(step.part)] })
    case 'function':
      return deltaPiece({ function_call: { name: step.name, arguments: '' } })
    case 'function_part':
      return deltaPiece({ function_call: { arguments: step.text } })
    case 'finish':
      return `"delta":{},"finish_reason":"${step.reason}"`
  }
}

function startOf({ index, id, type, name, signed }: CallStart): object {
  return type === 'custom'
    ? { index, id, type, custom: { name, input: '' }, ...signed }
    : { index, id, type, function: { name, arguments: '' }, ...signed }
}

function partOf({ index, type, text, signed }: CallPart): object {
  return type === 'custom'
    ? { index, custom: { input: text }, ...signed }
    : { index, function: { arguments: text }, ...signed }
}

function deltaPiece(delta: object, logprobs: JsonObject | null = null): Piece {
  const logprobsPiece = logprobs === null ? '' : `"logprobs":${JSON.stringify(logprobs)},`
  return `"delta":${JSON.stringify(delta)},${logprobsPiece}"finish_reason":null`
}
