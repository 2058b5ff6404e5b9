import type { JsonObject } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import type { StreamWriter } from '../api-format.ts'
import type { ContentStep } from '../content-step.ts'
import { type BlockSink, type BlockStart, emptyBlock } from './block-sink.ts'
import { deltaUsage, endOf, messageFrame, messageObject, usageBefore } from './message-object.ts'
import { type MessageOptions, MessageOutput } from './message-output.ts'

export type MessagesStreamOptions = MessageOptions & {
  /** By the name that clients use. */
  readonly model: string
  /** Estimated. */
  readonly promptTokens: () => number
  /** Of the request. */
  readonly stopSequences: readonly string[]
}

/** Writes the events of one message. Each frame is whole. */
export class MessagesStream implements StreamWriter, BlockSink {
  readonly #options: MessagesStreamOptions
  readonly #output: MessageOutput
  #hasBegun = false
  /** Of the blocks that are whole. */
  #blockCount = 0
  /** The beginning of a frame with a text of the open block: everything up to the text. */
  #textHead = ''
  #frames = ''

  constructor(options: MessagesStreamOptions) {
    this.#options = options
    this.#output = new MessageOutput(options, this)
  }

  note(): void {}

  /** There is one choice: requests of this API ask for no more. */
  write(choice: number, steps: readonly ContentStep[]): string {
    if (choice > 0) return ''
    this.#begin()
    for (const step of steps) this.#output.take(step)
    return this.#takeFrames()
  }

  textFrame(choice: number): ((json: string) => string) | undefined {
    if (choice > 0) return undefined
    return (json) => {
      this.#output.takeText(json, `"${json}"`)
      return this.#takeFrames()
    }
  }

  end(usage: OpenAiUsage, costRub: string): string {
    this.#begin()
    this.#output.take({ kind: 'finish', reason: 'stop' })
    const { stopSequences } = this.#options
    const { stop_reason, stop_sequence, stop_details } = endOf(
      this.#output,
      this.#output.stopSequence,
      stopSequences,
    )
    this.#event('message_delta', {
      delta: { stop_reason, stop_sequence, stop_details, container: null },
      usage: deltaUsage(usage, costRub),
    })
    this.#event('message_stop', {})
    return this.#takeFrames()
  }

  start(block: BlockStart): void {
    const index = this.#blockCount
    this.#event('content_block_start', { index, content_block: emptyBlock(block) })
    this.#textHead = `${deltaHead(index)}"text_delta","text":`
  }

  addText(_text: string, json: string): void {
    this.#frames += `${this.#textHead}${json}}}\n\n`
  }

  addThinking(text: string): void {
    this.#delta(`"thinking_delta","thinking":${JSON.stringify(text)}`)
  }

  sign(signature: string): void {
    this.#delta(`"signature_delta","signature":${JSON.stringify(signature)}`)
  }

  addInput(json: string): void {
    this.#delta(`"input_json_delta","partial_json":${JSON.stringify(json)}`)
  }

  stop(): void {
    this.#event('content_block_stop', { index: this.#blockCount })
    this.#blockCount += 1
  }

  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const { requestId, model, promptTokens } = this.#options
    const usage = usageBefore(promptTokens())
    this.#event('message_start', {
      message: messageObject(requestId, model, { content: [], end: null, usage }),
    })
  }

  #delta(fields: string): void {
    this.#frames += `${deltaHead(this.#blockCount)}${fields}}}\n\n`
  }

  #event(type: string, fields: JsonObject): void {
    this.#frames += messageFrame(type, JSON.stringify({ type, ...fields }))
  }

  #takeFrames(): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }
}

function deltaHead(index: number): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":`
}
