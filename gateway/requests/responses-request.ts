import type { Refusal } from '#core/errors/refusal'
import { invalidValue } from '../wire/errors.ts'
import { itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { isText } from '../wire/long-text.ts'
import { namesShown } from '../wire/openai-parameters.ts'
import type { ChatRequest } from './chat-request.ts'
import type { DroppedField } from './dropped-field.ts'
import { AskedTools } from './internal/asked-tools.ts'
import { ChatConversation } from './internal/chat-conversation.ts'
import type { Fault } from './internal/field-checks.ts'
import { ItemReader, storeSetting } from './internal/item-reader.ts'
import { type MessageSource, ownPathOf, sourceOf } from './internal/response-paths.ts'
import { checkBody, checkItem, kindOfItem } from './internal/responses-checks.ts'
import { parametersOf } from './internal/responses-parameters.ts'
import { type ResponsesAsked, repeatedOf } from './responses-asked.ts'

export type ParsedResponses = {
  /** The same as a chat. What the gateway encrypted is still encrypted (`encrypted-detail.ts`). */
  readonly request: ChatRequest
  readonly asked: ResponsesAsked
  /** The part of the request that a chat has no place for. */
  readonly dropped: readonly DroppedField[]
  /** Why only a provider with this API can serve the request. */
  readonly nativeOnly?: Refusal
  /** Bytes of the chat that are not in the request, at most. */
  readonly addedBytes: number
}

/**
 * Parses a body as a Responses request, or returns its first problem, with the path of the field as `param`. One item in
 * each step.
 *
 * Nulls mean "not set". The response is not stored, and nothing that was stored can be referred to.
 */
export function* parseResponsesRequest(
  body: JsonObject,
): Generator<undefined, ParsedResponses | { readonly refusal: Refusal }> {
  const dropped: DroppedField[] = []
  const tools = new AskedTools(dropped)
  const fault = checkBody(body) ?? findStored(body) ?? (yield* listTools(body, tools))
  if (fault !== undefined) return refuse(fault)
  const conversation = new ChatConversation()
  const reader = new ItemReader(tools, conversation, dropped)
  const { unreadable, nativeOnly } = yield* readInput(body, conversation, reader)
  if (unreadable !== undefined) return refuse(unreadable)
  const finished = conversation.finish()
  if ('fault' in finished) return refuse(finished.fault)
  const { placed } = finished
  if (placed.length === 0)
    return refuse(nativeOnly ?? { path: '.input', problem: 'contains nothing for the model. Add a message' })
  const chosen = parametersOf(body, tools, dropped)
  if ('fault' in chosen) return refuse(chosen.fault)
  return {
    request: {
      ...chosen.parameters,
      model: String(body.model),
      messages: placed.map(({ message }) => message),
    },
    asked: askedOf(body, tools, dropped, placed.map(sourceOf)),
    dropped: dropped.map(({ name, path }) => ({ name: shown(name), path: shown(path) })),
    ...(nativeOnly === undefined ? {} : { nativeOnly: refuse(nativeOnly).refusal }),
    addedBytes: tools.addedBytes + reader.addedBytes,
  }
}

function refuse({ path, problem }: Fault): { readonly refusal: Refusal } {
  return { refusal: invalidValue(path.replace(/^\./, ''), problem) }
}

function shown(name: string): string {
  const [only = ''] = namesShown([name])
  return only
}

/** Fields that refer to something that is stored, or ask for it. */
function findStored(body: JsonObject): Fault | undefined {
  if (body.background === true)
    return { path: '.background', problem: 'must be false: the gateway does not store responses' }
  if (isText(body.previous_response_id))
    return {
      path: '.previous_response_id',
      problem: `refers to a response that is not stored. Send the whole conversation in input (${storeSetting})`,
    }
  for (const name of ['conversation', 'prompt'])
    if (body[name] !== undefined && body[name] !== null)
      return {
        path: `.${name}`,
        problem: 'is not supported: the gateway does not store conversations or prompts',
      }
  return undefined
}

/** Checks all items and collects the tools among them: calls in the conversation are named after these. */
function* listTools(body: JsonObject, tools: AskedTools): Generator<undefined, Fault | undefined> {
  const listed = tools.add(itemsOf(body.tools), 'tools')
  if (listed !== undefined) return listed
  for (const [at, item] of itemsOf(body.input).entries()) {
    const path = `input[${at}]`
    const fault = checkItem(item)
    if (fault !== undefined) return { path: `${path}${fault.path}`, problem: fault.problem }
    const kind = kindOfItem(item as JsonObject)
    if (kind === 'additional_tools' || kind === 'tool_search_output') {
      const found = tools.add(itemsOf((item as JsonObject).tools), `${path}.tools`)
      if (found !== undefined) return found
    }
    yield
  }
  tools.assignNames()
  return undefined
}

/** `nativeOnly`: the first item that only a provider with this API can read. */
function* readInput(
  { instructions, input }: JsonObject,
  conversation: ChatConversation,
  reader: ItemReader,
): Generator<undefined, { readonly unreadable?: Fault; readonly nativeOnly?: Fault }> {
  let nativeOnly: Fault | undefined
  if (isText(instructions))
    conversation.addMessage('system', [{ type: 'text', text: instructions }], 'instructions')
  if (isText(input)) conversation.addMessage('user', [{ type: 'text', text: input }], 'input')
  for (const [at, item] of itemsOf(input).entries()) {
    const fault = reader.read(item as JsonObject, `input[${at}]`)
    if (fault?.isNative === true) nativeOnly ??= fault
    else if (fault !== undefined) return { unreadable: fault }
    yield
  }
  return nativeOnly === undefined ? {} : { nativeOnly }
}

function askedOf(
  body: JsonObject,
  tools: AskedTools,
  dropped: readonly DroppedField[],
  sources: readonly MessageSource[],
): ResponsesAsked {
  const lost = new Set(dropped.map(({ path }) => path))
  const kept = itemsOf(body.tools).filter((_, at) => !lost.has(`tools[${at}]`))
  const { service_tier: tier } = body
  const used = lost.has('tool_choice') ? { ...body, tool_choice: null } : body
  return {
    model: String(body.model),
    repeated: repeatedOf(used, kept as readonly JsonObject[]),
    serviceTier: typeof tier === 'string' && tier !== 'auto' ? tier : 'default',
    toolOf: (name) => tools.toolOf(name),
    pathOf: (path) => ownPathOf(path, sources),
  }
}
