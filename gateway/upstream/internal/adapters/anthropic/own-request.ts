import { fieldsOf, itemsOf, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import { isText, type Text } from '../../../../wire/long-text.ts'
import { namesShown, openAiParameters } from '../../../../wire/openai-parameters.ts'
import type { Dialect, OwnChat } from '../../../provider-adapter.ts'
import { allowedToolsOf } from '../route-tools.ts'
import { signedBlocks } from './blocks.ts'
import { withShortCaches } from './cache-marks.ts'
import { isServerTool } from './server-tools.ts'
import { budgetMin } from './thinking.ts'

/** The fields of a request that are to be sent. The map may be changed, its values may not. */
type Fields = Map<string, unknown>

type Writing = { readonly request: OwnChat; readonly dropped: Set<string>; readonly keepsCaches: boolean }

/** Fields that cost more than the model's price covers. */
const dearer = ['speed', 'inference_geo', 'service_tier', 'container', 'mcp_servers', 'fallbacks'] as const
/** Parameters of a chat that this API has, too; routes use their names. */
const shared: ReadonlySet<string> = new Set(['temperature', 'top_p', 'metadata', 'service_tier', 'tools'])
const chatOnly: ReadonlySet<string> = new Set(openAiParameters.filter((name) => !shared.has(name)))
const required: ReadonlySet<string> = new Set(['model', 'messages', 'max_tokens', 'stream'])

/**
 * The client's own request as the provider gets it, one message in each step. Whatever is not named here is sent as it came,
 * unknown fields, blocks and tools among it.
 */
export function* writeOwnRequest(
  request: OwnChat,
): Generator<undefined, { readonly json: JsonObject; readonly dropped: readonly string[] }> {
  const { own, dialect } = request
  const dropped = new Set<string>()
  const writing = { request, dropped, keepsCaches: requestsLongCaches(dialect) }
  const fields = applyRules(own.body, dialect, dropped)
  filterTools(fields, allowedToolsOf(dialect), dropped)
  for (const name of ['system', 'tools', 'cache_control'])
    if (fields.has(name)) fields.set(name, cachedShortly(fields.get(name), writing))
  const { messages, lostThoughts } = yield* ownMessages(itemsOf(own.body.messages), writing)
  fields.set('messages', messages)
  limitOutput(fields, request, dropped)
  if (lostThoughts) stopThinking(fields, dropped)
  return { json: Object.fromEntries(fields), dropped: namesShown([...dropped]) }
}

/** Only the route may request what costs more. */
function applyRules(body: JsonObject, { route, model }: Dialect, dropped: Set<string>): Fields {
  const fields: Fields = new Map(Object.entries(body))
  for (const name of [...route.drop, ...dearer]) {
    if (required.has(name) || !isSet(fields.get(name))) continue
    fields.delete(name)
    dropped.add(name)
  }
  for (const { name, value } of route.defaults)
    if (!chatOnly.has(name) && !required.has(name) && !isSet(fields.get(name))) fields.set(name, value)
  fields.set('model', model)
  return fields
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

function requestsLongCaches({ route }: Dialect): boolean {
  return route.defaults.some(({ name, value }) => name === 'cache_control' && fieldsOf(value)?.ttl === '1h')
}

function cachedShortly(value: unknown, { keepsCaches, dropped }: Writing): unknown {
  if (keepsCaches) return value
  const short = withShortCaches(value)
  if (short !== value) dropped.add('cache_control.ttl')
  return short
}

function filterTools(fields: Fields, allowed: ReadonlySet<unknown>, dropped: Set<string>): void {
  const tools = fields.get('tools')
  if (!Array.isArray(tools)) return
  const kept = tools.filter((tool) => {
    const given = fieldsOf(tool) ?? {}
    const isSent = !isServerTool(given) || allowed.has(given.type)
    if (!isSent) dropped.add(`tools.${given.type}`)
    return isSent
  })
  if (kept.length === tools.length) return
  const choice = fieldsOf(fields.get('tool_choice'))
  if (choice?.type === 'tool' && !objectsIn(kept).some(({ name }) => name === choice.name)) {
    fields.delete('tool_choice')
    dropped.add('tool_choice')
  }
  if (kept.length === 0) for (const name of ['tools', 'tool_choice']) fields.delete(name)
  else fields.set('tools', kept)
}

/** `lostThoughts`: the last turn's calls have no reasoning in front of them any more. */
function* ownMessages(given: readonly unknown[], writing: Writing) {
  const messages: unknown[] = []
  let lostThoughts = false
  for (const message of given) {
    const fields = fieldsOf(cachedShortly(message, writing))
    if (fields === undefined || !Array.isArray(fields.content)) messages.push(fields ?? message)
    else {
      const content = withOwnThoughts(fields.content, writing.request)
      if (fields.role === 'assistant')
        lostThoughts = content.length < fields.content.length && content.some(isCall)
      if (content.length > 0 || fields.content.length === 0)
        messages.push(content === fields.content ? fields : { ...fields, content })
    }
    yield
  }
  return { messages, lostThoughts }
}

function isCall(block: unknown): boolean {
  return fieldsOf(block)?.type === 'tool_use'
}

/** The content with the reasoning that this provider signed, as it signed it, and without any other; the very same list without any. */
function withOwnThoughts(content: readonly unknown[], request: OwnChat): readonly unknown[] {
  if (request.assumesSigned) return content
  const kept = content.flatMap((given): readonly unknown[] => {
    const block = fieldsOf(given)
    if (block?.type !== 'thinking' && block?.type !== 'redacted_thinking') return [given]
    const encrypted = [block.signature, block.data].find((text) => isText(text) && text.length > 0)
    return encrypted === undefined ? [] : ownThoughts(block, encrypted as Text, request)
  })
  return kept.length === content.length && kept.every((block, at) => block === content[at]) ? content : kept
}

function ownThoughts(block: JsonObject, encrypted: Text, { own, dialect }: OwnChat): readonly JsonObject[] {
  const signed = own.findSigned(encrypted)
  return signed?.origin === dialect.origin ? signedBlocks(signed.details, block.thinking ?? '') : []
}

/** At most what is held. A budget to think with is a part of it. */
function limitOutput(fields: Fields, { outputTokensMax }: OwnChat, dropped: Set<string>): void {
  const asked = fields.get('max_tokens')
  if (outputTokensMax === null || (typeof asked === 'number' && asked <= outputTokensMax)) return
  fields.set('max_tokens', outputTokensMax)
  const thinking = fieldsOf(fields.get('thinking'))
  if (typeof thinking?.budget_tokens !== 'number' || thinking.budget_tokens < outputTokensMax) return
  if (outputTokensMax > budgetMin) fields.set('thinking', { ...thinking, budget_tokens: outputTokensMax - 1 })
  else stopThinking(fields, dropped)
}

/** Only of models that are given a budget: others need no reasoning back. */
function stopThinking(fields: Fields, dropped: Set<string>): void {
  if (fieldsOf(fields.get('thinking'))?.type !== 'enabled') return
  fields.delete('thinking')
  dropped.add('thinking')
}
