import type Anthropic from '@anthropic-ai/sdk'
import { redactedThinkingBlock, thinkingBlock } from '../../support/anthropic.ts'

/** What the SDK sends; version 2023-06-01 has parameters that its types no longer have. */
export type Request = Anthropic.MessageCreateParamsNonStreaming & {
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
}

/** A request that is accepted, and a change after which it is rejected. */
export type Rejection = {
  readonly name: string
  readonly request: Request
  /** 2023-06-01, if none. */
  readonly version?: string
  /** New values by their paths; `undefined` removes one. */
  readonly change: Readonly<Record<string, unknown>>
  readonly message: string
}

export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]).toString('base64')

export const hi: Anthropic.MessageParam = { role: 'user', content: 'Hi' }
export const base: Request = { model: 'claude-haiku-4-5', max_tokens: 4_096, messages: [hi] }
export const on = (model: string, fields: Partial<Request> = {}): Request => ({ ...base, model, ...fields })
export const withTurns = (
  messages: readonly Anthropic.MessageParam[],
  fields: Partial<Request> = {},
): Request => ({
  ...base,
  messages: [...messages],
  ...fields,
})
export const ofUser = (...content: readonly Anthropic.ContentBlockParam[]): Request =>
  withTurns([{ role: 'user', content: [...content] }])

const object = { type: 'object' as const }
export const closed = { type: 'object' as const, additionalProperties: false }
export const weather: Anthropic.Tool = { name: 'weather', input_schema: object }
export const clock: Anthropic.Tool = { name: 'clock', input_schema: object }
export const call: Anthropic.ContentBlockParam = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'weather',
  input: {},
}
export const result: Anthropic.ContentBlockParam = {
  type: 'tool_result',
  tool_use_id: 'toolu_1',
  content: 'Rain',
}
export const say = (text: string): Anthropic.ContentBlockParam => ({ type: 'text', text })
export const thought = thinkingBlock('A call.') as unknown as Anthropic.ThinkingBlockParam
export const redacted = redactedThinkingBlock('A call.') as unknown as Anthropic.RedactedThinkingBlockParam
export const image = (source: Anthropic.ImageBlockParam['source']): Anthropic.ContentBlockParam => ({
  type: 'image',
  source,
})
export const pngImage = image({ type: 'base64', media_type: 'image/png', data: png })
export const mark = { type: 'ephemeral' as const }

export const budget = { type: 'enabled', budget_tokens: 1_024 } as const

export const toolTurns = withTurns(
  [hi, { role: 'assistant', content: [call] }, { role: 'user', content: [result, say('Well?')] }],
  { tools: [weather] },
)
export const thoughtTurns = withTurns(
  [hi, { role: 'assistant', content: [thought, call] }, { role: 'user', content: [result] }],
  { tools: [weather], thinking: budget },
)
export const extra = 'Extra inputs are not permitted'
export const consult =
  'Please consult our documentation at https://platform.claude.com/docs/en/build-with-claude/extended-thinking'
