import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { isText, type Text } from '../../../../wire/long-text.ts'
import { namesShown } from '../../../../wire/openai-parameters.ts'
import { encryptedInDetails, mapEncrypted } from '../../../../wire/own-encrypted.ts'
import type { OwnChat } from '../../../provider-adapter.ts'
import { allowedToolsOf } from '../route-tools.ts'
import { applyRules } from './parameters.ts'
import { isServerTool } from './server-tools.ts'

/**
 * The client's own request as the provider gets it, one item in each step. Whatever is not named here is sent as it came, unknown
 * fields, items and tools among it.
 */
export function* writeOwnRequest(
  request: OwnChat,
): Generator<undefined, { readonly json: JsonObject; readonly dropped: readonly string[] }> {
  const { body } = request.own
  const dropped = new Set<string>()
  const fields = applyRules(body, request, dropped)
  const filter: ToolFilter = { allowed: allowedToolsOf(request.dialect), dropped }
  filterTools(fields, filter)
  if (Array.isArray(body.input)) fields.set('input', yield* ownItems(body.input, request, filter))
  return { json: Object.fromEntries(fields), dropped: namesShown([...dropped]) }
}

type ToolFilter = { readonly allowed: ReadonlySet<unknown>; readonly dropped: Set<string> }

/** Rejected if there are no tools. */
const aboutTools = ['tools', 'tool_choice', 'parallel_tool_calls']

function filterTools(fields: Map<string, unknown>, filter: ToolFilter): void {
  const tools = fields.get('tools')
  if (!Array.isArray(tools)) return
  const kept = withoutServerTools(tools, filter)
  if (kept === tools) return
  if (kept.length === 0) for (const name of aboutTools) fields.delete(name)
  else {
    fields.set('tools', kept)
    fields.set('tool_choice', withoutServerChoice(fields.get('tool_choice'), filter))
  }
}

/** The very same list if none was dropped. */
function withoutServerTools(tools: readonly unknown[], filter: ToolFilter): readonly unknown[] {
  const kept = tools.flatMap((given) => {
    const tool = fieldsOf(given)
    if (tool === undefined) return [given]
    if (isServerTool(tool) && !filter.allowed.has(tool.type)) {
      filter.dropped.add(`tools.${tool.type}`)
      return []
    }
    return [Array.isArray(tool.tools) ? withTools(tool, tool.tools, filter) : given]
  })
  return kept.length === tools.length && kept.every((tool, at) => tool === tools[at]) ? tools : kept
}

/** A namespace, or an item that brings tools. */
function withTools(holder: JsonObject, tools: readonly unknown[], filter: ToolFilter): JsonObject {
  const kept = withoutServerTools(tools, filter)
  return kept === tools ? holder : { ...holder, tools: kept }
}

/** A choice of a tool that is not sent is none. */
function withoutServerChoice(choice: unknown, filter: ToolFilter): unknown {
  const given = fieldsOf(choice)
  if (given === undefined) return choice
  if (Array.isArray(given.tools)) return withTools(given, given.tools, filter)
  if (!isServerTool(given) || filter.allowed.has(given.type)) return choice
  filter.dropped.add('tool_choice')
  return 'auto'
}

function* ownItems(
  input: readonly unknown[],
  request: OwnChat,
  filter: ToolFilter,
): Generator<undefined, readonly unknown[]> {
  const items: unknown[] = []
  for (const given of input) {
    const item = fieldsOf(given)
    const kept = item === undefined ? given : ownItem(item, request, filter)
    if (kept !== undefined) items.push(kept)
    yield
  }
  return items
}

/** An item as the provider gets it; `undefined`: it does not. */
function ownItem(item: JsonObject, request: OwnChat, filter: ToolFilter): JsonObject | undefined {
  if (item.type === 'item_reference' || isReference(item)) {
    filter.dropped.add('input.item_reference')
    return undefined
  }
  const filtered = Array.isArray(item.tools) ? withTools(item, item.tools, filter) : item
  // Nothing is stored: the provider would look for reasoning of this id, and reject the request.
  if (item.type === 'reasoning' && !isText(item.encrypted_content)) return undefined
  if (request.assumesSigned) return filtered
  let isForeign = false
  const decrypted = mapEncrypted(filtered, (encrypted) => {
    const data = decryptedFor(request, encrypted)
    if (data === undefined) isForeign = true
    return data
  })
  if (!isForeign) return fieldsOf(decrypted)
  if (item.type !== 'reasoning') filter.dropped.add(`input.${String(item.type)}`)
  return undefined
}

/** A text as this provider encrypted it; `undefined`: it did not. */
function decryptedFor({ own, dialect }: OwnChat, encrypted: Text): string | undefined {
  const signed = own.findSigned(encrypted)
  return signed?.origin === dialect.origin ? encryptedInDetails(signed.details) : undefined
}

/** Clients leave the type out. */
function isReference({ id, type, ...fields }: JsonObject): boolean {
  return id !== undefined && type === undefined && Object.keys(fields).length === 0
}
