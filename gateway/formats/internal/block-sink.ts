import { fieldsOf, findExactJson, type JsonObject } from '../../wire/json-fields.ts'
import { GrowingText } from './growing-text.ts'

/** The beginning of a block of a message's content. */
export type BlockStart =
  | { readonly type: 'text' }
  | { readonly type: 'thinking' }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string }

/** Takes the blocks of a message, one after the other. */
export type BlockSink = {
  start(block: BlockStart): void
  /** @param json the text as JSON. */
  addText(text: string, json: string): void
  addThinking(text: string): void
  sign(signature: string): void
  addInput(json: string): void
  stop(): void
}

/** A block as its message has it while it is empty. */
export function emptyBlock(start: BlockStart): JsonObject {
  switch (start.type) {
    case 'text':
      return { ...start, text: '', citations: null }
    case 'thinking':
      return { ...start, thinking: '', signature: '' }
    case 'tool_use':
      return { ...start, input: {}, caller: { type: 'direct' } }
  }
}

/** The blocks of a message that is not streamed. */
export class WholeBlocks implements BlockSink {
  readonly blocks: JsonObject[] = []
  #start: BlockStart | undefined
  #text = new GrowingText()
  #signature = ''

  start(block: BlockStart): void {
    this.#start = block
    this.#text = new GrowingText()
    this.#signature = ''
  }

  addText(text: string): void {
    this.#text.add(text)
  }

  addThinking(text: string): void {
    this.#text.add(text)
  }

  sign(signature: string): void {
    this.#signature = signature
  }

  addInput(json: string): void {
    this.#text.add(json)
  }

  stop(): void {
    if (this.#start !== undefined)
      this.blocks.push({ ...emptyBlock(this.#start), ...this.#content(this.#start) })
    this.#start = undefined
  }

  #content({ type }: BlockStart): JsonObject {
    const text = this.#text.text()
    if (type === 'text') return { text }
    if (type === 'thinking') return { thinking: text, signature: this.#signature }
    // Models write arguments that are no JSON: clients take objects only.
    return { input: fieldsOf(findExactJson(text)) ?? {} }
  }
}
