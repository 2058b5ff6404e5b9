import { type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import type { Block } from './content.ts'

/** Facts about a call that its response is read with. */
export type AnthropicReading = {
  /** The caller's name of a tool. */
  readonly nameOf: (sentName: string) => string
  /** The mark of what its provider signs. */
  readonly origin: string
}

/** As OpenRouter names it: clients know where such a detail comes from. */
const format = 'anthropic-claude-v1'

/** Reasoning that the provider signed, or the first piece of it. Clients return it as `reasoning_details`. */
export function thoughtDetail(index: number, origin: string, told: JsonObject): JsonObject {
  return { type: 'reasoning.text', index, format, origin, ...told }
}

/** Reasoning that only the provider can read. */
export function hiddenDetail(index: number, origin: string, data: unknown): JsonObject {
  return { type: 'reasoning.encrypted', index, format, origin, data }
}

/** The blocks of reasoning that this provider signed, unchanged. @param shown the text of one without: a signature is valid without it. */
export function signedBlocks(details: readonly unknown[], shown: unknown = ''): Block[] {
  return objectsIn(details).flatMap(({ type, text, signature, data }): Block[] => {
    if (type === 'reasoning.text' && typeof signature === 'string')
      return [{ type: 'thinking', thinking: text ?? shown, signature }]
    return type === 'reasoning.encrypted' && typeof data === 'string'
      ? [{ type: 'redacted_thinking', data }]
      : []
  })
}

/** Why a response ended, in words of which OpenAI's are made (`chat/internal/answer-fields.ts`). */
export function finishOf(stopReason: unknown): string {
  // The provider's tools need another turn, which nothing here takes.
  if (stopReason === 'pause_turn') return 'length'
  return typeof stopReason === 'string' ? stopReason : 'stop'
}

/** The explanation of a refusal, if there is one. */
export function refusalOf(stopReason: unknown, explanation: unknown): { readonly refusal?: string } {
  return stopReason === 'refusal' && typeof explanation === 'string' ? { refusal: explanation } : {}
}
