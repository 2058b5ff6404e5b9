import type { Refusal } from '#core/errors/refusal'
import { invalidValue } from '../wire/errors.ts'
import { fieldsOf, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { namesShown } from '../wire/openai-parameters.ts'
import type { ChatRequest } from './chat-request.ts'
import type { DroppedField } from './dropped-field.ts'
import { ChatConversation, type ConversationNames } from './internal/chat-conversation.ts'
import type { Fault } from './internal/field-checks.ts'
import { ownMessagePathOf } from './internal/message-paths.ts'
import { MessageReader } from './internal/message-reader.ts'
import { MessageTools } from './internal/message-tools.ts'
import { checkMessagesBody } from './internal/messages-checks.ts'
import { messagesParametersOf } from './internal/messages-parameters.ts'
import type { MessagesAsked } from './messages-asked.ts'

export type ParsedMessages = {
  /** The same as a chat. What the gateway encrypted is still encrypted (`encrypted-detail.ts`). */
  readonly request: ChatRequest
  readonly asked: MessagesAsked
  /** The part of the request that a chat has no place for. */
  readonly dropped: readonly DroppedField[]
  /** Bytes of the chat that are not in the request, at most. */
  readonly addedBytes: number
}

const names: ConversationNames = {
  callId: 'id',
  answeredId: 'tool_use_id',
  output: 'result',
  remedy: 'add a tool_result with its id to the next message',
}

/**
 * Parses a body as a Messages request, or returns its first problem, with the path of the field as `param`. One block of
 * content in each step.
 *
 * Nulls mean "not set". Unknown fields, blocks and tools are no problem: they are dropped.
 */
export function* parseMessagesRequest(
  body: JsonObject,
): Generator<undefined, ParsedMessages | { readonly refusal: Refusal }> {
  const fault = checkMessagesBody(body) ?? findStored(body)
  if (fault !== undefined) return refuse(fault)
  const dropped: DroppedField[] = []
  const tools = new MessageTools(dropped)
  const conversation = new ChatConversation(names)
  const reader = new MessageReader(tools, conversation, dropped)
  const unreadable = tools.add(itemsOf(body.tools), 'tools') ?? (yield* readAll(body, reader))
  if (unreadable !== undefined) return refuse(unreadable)
  const finished = conversation.finish()
  if ('fault' in finished) return refuse(finished.fault)
  const { placed } = finished
  if (!placed.some(({ path }) => path !== 'system'))
    return refuse({ path: '.messages', problem: 'contains nothing for the model. Add a text' })
  const chosen = messagesParametersOf(body, tools, reader.effort, dropped)
  if ('fault' in chosen) return refuse(chosen.fault)
  const model = modelNamed(String(body.model))
  return {
    request: { ...chosen.parameters, model, messages: placed.map(({ message }) => message) },
    asked: {
      model,
      thinking: fieldsOf(body.thinking)?.display === 'omitted' ? 'omitted' : 'shown',
      stopSequences: itemsOf(body.stop_sequences).map(String),
      toolNameOf: (name) => tools.nameOf(name),
      pathOf: (path) => ownMessagePathOf(path, placed, reader.partPaths),
    },
    dropped: dropped.map((field) => ({ ...field, name: shown(field.name), path: shown(field.path) })),
    addedBytes: tools.addedBytes + reader.addedBytes,
  }
}

/** The catalog's name of a model: the names of Anthropic's own clients have no provider. */
export function modelNamed(name: string): string {
  return name.includes('/') ? name : `anthropic/${name}`
}

/** The one field that cannot be dropped: what it stands for is not in the request. */
function findStored({ thread }: JsonObject): Fault | undefined {
  if (thread === undefined || thread === null) return undefined
  return {
    path: '.thread',
    problem:
      'is not supported: the gateway does not store conversations. Send the whole conversation without it',
  }
}

function refuse({ path, problem }: Fault): { readonly refusal: Refusal } {
  return { refusal: invalidValue(path.replace(/^\./, ''), problem) }
}

function shown(name: string): string {
  const [only = ''] = namesShown([name])
  return only
}

function* readAll(
  { system, messages }: JsonObject,
  reader: MessageReader,
): Generator<undefined, Fault | undefined> {
  const fault = yield* reader.readSystem(system)
  if (fault !== undefined) return fault
  for (const [at, message] of itemsOf(messages).entries()) {
    const problem = yield* reader.read(message as JsonObject, `messages[${at}]`)
    if (problem !== undefined) return problem
  }
  return undefined
}
