import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Api, apis } from './fault-cases.ts'

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

/** Kinds of blocks of the Messages API, likewise. */
export const blockKinds = [
  'text',
  'text that is cut off',
  'text that is refused',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'parallel tool_uses',
  'tool_use of a long name',
  'tool_reference',
  'tool_result in blocks',
  'tool_result that is an error',
  'image and document',
  'documents in words',
  'search_result',
  'system',
  'system between messages',
  'blocks that are dropped',
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

/** A conversation with a kind of item or block, at each backend. */
export type TurnCase = {
  readonly kind: string
  /** Without a conversation: the message `Hi`. */
  readonly request: Fields
  readonly said: Readonly<Partial<Record<Api, Said>>>
  /** The items or blocks of the response. */
  readonly items: readonly Fields[]
  /** Other fields of it. */
  readonly response?: Fields
  /** Items or messages with which the client goes on; `$call` is the last call's id. */
  readonly then: readonly Fields[]
  /** The conversation as each provider gets it in the end: `messages` or `contents`, and fields next to it. */
  readonly sent: Readonly<Partial<Record<Api, Fields>>>
  /** Names of the parts that are dropped. */
  readonly dropped?: readonly string[]
  /** Why a backend has no such items. */
  readonly none?: Readonly<Partial<Record<Api, string>>>
}

const folder = join(import.meta.dirname, 'cases')
const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'))

export const itemCases: readonly TurnCase[] = read('responses/items.json')

/** A case of blocks has the words and the conversations of the case of items that is the same chat, in addition to its own. */
type WrittenBlockCase = Omit<TurnCase, 'said' | 'sent'> & {
  readonly like?: (typeof itemKinds)[number]
  readonly said?: Readonly<Partial<Record<Api, Partial<Said>>>>
  readonly sent?: TurnCase['sent']
}

const written: readonly WrittenBlockCase[] = read('messages/blocks.json')
export const blockCases: readonly TurnCase[] = written.map(({ like, said, sent, ...rest }) => {
  const same = itemCases.find(({ kind }) => kind === like)
  const words = apis.map((api) => [api, { ...same?.said[api], ...said?.[api] }] as const)
  return {
    ...rest,
    said: Object.fromEntries(words.filter(([, { words: any }]) => any !== undefined)),
    sent: { ...same?.sent, ...sent },
  }
})
