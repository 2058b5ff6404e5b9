import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { type Failure, failureOfRequest } from '../../../failure.ts'
import { isFailure } from '../../../provider-adapter.ts'
import { readArguments } from '../../call-arguments.ts'
import type { ToolNames } from '../../tool-names.ts'
import { signedBlocks } from './blocks.ts'
import { type Block, cacheMarkOf, writeContent } from './content.ts'

export type ConversationDeps = {
  readonly toolNames: ToolNames
  readonly callIds: ToolNames
}

type Turn = { readonly role: 'user' | 'assistant'; readonly content: Block[] }

/** Calls of the last assistant's message that have no result yet, and where they stand. */
type OpenCalls = Map<string, { readonly path: string; hasResult: boolean }>

type Conversation = { readonly system?: readonly Block[]; readonly messages: readonly Turn[] }

/** The turn of a conversation without a user's message: the API requires one. */
const silentUser: Turn = { role: 'user', content: [{ type: 'text', text: 'Continue.' }] }

/**
 * A conversation in the API's form: instructions in front are its `system`, later ones are part of the user's turn.
 * Neighbours of one role become one turn, in which the results of calls come first. Each message is a step.
 */
export function* writeConversation(
  messages: readonly unknown[],
  deps: ConversationDeps,
): Generator<undefined, Conversation | Failure> {
  const system: Block[] = []
  const turns: Turn[] = []
  let open: OpenCalls = new Map()
  for (const [at, given] of messages.entries()) {
    const message = fieldsOf(given) ?? {}
    const path = `messages[${at}]`
    const isAssistant = message.role === 'assistant'
    const unanswered = isAssistant ? findUnanswered(open) : undefined
    if (unanswered !== undefined) return unanswered
    const blocks = isAssistant
      ? yield* writeAssistant(message, path, deps)
      : writeUser(message, path, open, deps)
    if (isFailure(blocks)) return blocks
    if (isAssistant) open = callsOf(message, path)
    if (turns.length === 0 && isInstruction(message)) system.push(...blocks)
    else if (blocks.length > 0) addTo(turns, isAssistant ? 'assistant' : 'user', blocks)
    yield
  }
  const unanswered = findUnanswered(open)
  if (unanswered !== undefined && turns.at(-1)?.role === 'user') return unanswered
  trimEnd(turns.at(-1))
  const told = turns.length === 0 ? [silentUser] : turns
  return { ...(system.length === 0 ? {} : { system }), messages: told }
}

function isInstruction({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer'
}

function addTo(turns: Turn[], role: Turn['role'], blocks: readonly Block[]): void {
  const last = turns.at(-1)
  if (last?.role !== role) {
    turns.push({ role, content: [...blocks] })
    return
  }
  const [first] = blocks
  const firstOther = last.content.findIndex(({ type }) => type !== 'tool_result')
  if (first?.type === 'tool_result' && firstOther !== -1) last.content.splice(firstOther, 0, ...blocks)
  else last.content.push(...blocks)
}

function writeUser(
  message: JsonObject,
  path: string,
  open: OpenCalls,
  deps: ConversationDeps,
): readonly Block[] | Failure {
  const { role, content, tool_call_id: id } = message
  if (role === 'function')
    return failureOfRequest(`${path}.role`, 'must be tool for this model, with the id of its call')
  const blocks = writeContent(content, path)
  if (isFailure(blocks) || role !== 'tool') return blocks
  const call = open.get(String(id))
  if (call === undefined)
    return failureOfRequest(`${path}.tool_call_id`, 'must be the id of a call in the last assistant message')
  if (call.hasResult)
    return failureOfRequest(`${path}.tool_call_id`, 'must not repeat a call that has a result')
  call.hasResult = true
  return [
    {
      type: 'tool_result',
      tool_use_id: deps.callIds.sent(String(id)),
      content: blocks,
      ...cacheMarkOf(message),
    },
  ]
}

function* writeAssistant(
  message: JsonObject,
  path: string,
  deps: ConversationDeps,
): Generator<undefined, readonly Block[] | Failure> {
  if (message.function_call !== undefined)
    return failureOfRequest(`${path}.function_call`, 'must be in tool_calls for this model')
  const said = writeContent(message.content ?? message.refusal ?? [], path)
  if (isFailure(said)) return said
  const blocks = [...signedBlocks(itemsOf(message.reasoning_details)), ...said]
  for (const [at, given] of itemsOf(message.tool_calls).entries()) {
    const call = fieldsOf(given) ?? {}
    const { name, arguments: written } = fieldsOf(call.function) ?? {}
    const place = `${path}.tool_calls[${at}]`
    if (typeof name !== 'string') return failureOfRequest(`${place}.type`, 'must be function for this model')
    const input = yield* readArguments(written)
    if (typeof input === 'string') return failureOfRequest(`${place}.function.arguments`, input)
    const id = deps.callIds.sent(String(call.id))
    blocks.push({ type: 'tool_use', id, name: deps.toolNames.sent(name), input, ...cacheMarkOf(call) })
  }
  return blocks
}

function callsOf({ tool_calls: calls }: JsonObject, path: string): OpenCalls {
  return new Map(
    itemsOf(calls).map((call, at) => [
      String(fieldsOf(call)?.id),
      { path: `${path}.tool_calls[${at}]`, hasResult: false },
    ]),
  )
}

function findUnanswered(open: OpenCalls): Failure | undefined {
  const call = [...open.values()].find(({ hasResult }) => !hasResult)
  return call && failureOfRequest(call.path, 'must be followed by a tool message with its result')
}

/** The API rejects a last assistant's text that ends with white space. */
function trimEnd(turn: Turn | undefined): void {
  const last = turn?.content.at(-1)
  if (turn?.role !== 'assistant' || last?.type !== 'text' || typeof last.text !== 'string') return
  turn.content[turn.content.length - 1] = { ...last, text: last.text.trimEnd() }
}
