import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Api } from './fault-cases.ts'

/** Kinds of items of the Responses API: those of a model's response, and those that only clients send. */
export const itemKinds = [
  'message',
  'message that is cut off',
  'message with citations',
  'refusal',
  'reasoning',
  'encrypted reasoning',
  'function_call',
  'parallel function_calls',
  'function_call of a namespace',
  'custom_tool_call',
  'tool_search_call',
  'image_generation_call',
  'instructions',
  'images and files',
  'output in parts',
  'additional_tools',
  'items that are dropped',
] as const

type Fields = { readonly [field: string]: unknown }

/** The words of a model: OpenAI's message, Anthropic's blocks or Gemini's parts. */
export type Said = {
  readonly words: unknown
  /** The provider's own reason for the end. */
  readonly end?: string
  /** In place of those of the case: signatures that come with calls or texts have separate items. */
  readonly items?: readonly Fields[]
}

/** A conversation with a kind of item, at each backend. */
export type ItemCase = {
  readonly kind: (typeof itemKinds)[number]
  /** Without `input`: the message `Hi`. */
  readonly request: Fields
  readonly said: Readonly<Partial<Record<Api, Said>>>
  /** The items of the response. */
  readonly items: readonly Fields[]
  /** Items with which the client goes on; `$call` is the last call's id. */
  readonly then: readonly Fields[]
  /** The conversation as each provider gets it in the end: `messages` or `contents`, and fields next to it. */
  readonly sent: Readonly<Partial<Record<Api, Fields>>>
  /** Names of the parts that are dropped. */
  readonly dropped?: readonly string[]
  /** Why a backend has no such items. */
  readonly none?: Readonly<Partial<Record<Api, string>>>
}

const file = join(import.meta.dirname, 'cases/responses/items.json')
export const itemCases: readonly ItemCase[] = JSON.parse(readFileSync(file, 'utf8'))
