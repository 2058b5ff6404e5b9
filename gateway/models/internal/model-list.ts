import type { InspectedKey } from '#core/admission/admission-reply'
import { mayUse } from '#core/keys/allowed-models'
import { isOpenTo, type Route, type RouteTable } from '../../routing/route-table.ts'

/** A model as the list shows it: the four fields of OpenAI's schema, and no more. */
type ModelEntry = {
  /** `<provider>/<model>`. */
  readonly id: string
  readonly object: 'model'
  /** Unix seconds. */
  readonly created: number
  readonly owned_by: string
}

type Caller = Pick<InspectedKey, 'organizationId' | 'allowedModels'>

/** The models that a key may use, for chat and for embeddings, in order of name. */
export function listModels(table: RouteTable, caller: Caller): readonly ModelEntry[] {
  return table
    .modelsFor(caller.organizationId)
    .filter(({ document }) => mayUse(caller.allowedModels, document.model))
    .map(entryOf)
}

/** One model, or `undefined` if there is none or the key may not use it: the caller sees no difference. */
export function findModel(table: RouteTable, caller: Caller, id: string): ModelEntry | undefined {
  const route = table.findModel(id)
  if (route === undefined || !isOpenTo(route, caller.organizationId)) return undefined
  return mayUse(caller.allowedModels, id) ? entryOf(route) : undefined
}

/** A model as Anthropic's list shows it, with every field that is published. */
export type AnthropicModelEntry = {
  readonly type: 'model'
  readonly id: string
  readonly display_name: string
  /** RFC 3339. */
  readonly created_at: string
  readonly max_input_tokens: number | null
  readonly max_tokens: number | null
  readonly lifecycle: 'active'
  readonly capabilities: null
  readonly deprecated_at: null
  readonly line: null
  readonly retires_at: null
}

export type AnthropicPage = {
  readonly data: readonly AnthropicModelEntry[]
  readonly has_more: boolean
  readonly first_id: string | null
  readonly last_id: string | null
}

/** A part of the list: the models behind one of them, or those in front of one. */
export type PageAsked = {
  readonly limit: number
  readonly afterId: string | undefined
  readonly beforeId: string | undefined
}

/** A page of the chat models that a key may use, in order of name. Of an unknown model nothing is behind or in front. */
export function listForAnthropic(
  table: RouteTable,
  caller: Caller,
  { limit, afterId, beforeId }: PageAsked,
): AnthropicPage {
  const all = table
    .modelsFor(caller.organizationId)
    .filter(({ document }) => document.type === 'chat' && mayUse(caller.allowedModels, document.model))
  const placeOf = (id: string) => all.findIndex(({ document }) => document.model === id)
  const end = beforeId === undefined ? all.length : Math.max(placeOf(beforeId), 0)
  const start = afterId === undefined ? 0 : placeOf(afterId) === -1 ? all.length : placeOf(afterId) + 1
  const candidates = all.slice(start, end)
  const page = beforeId === undefined ? candidates.slice(0, limit) : candidates.slice(-limit)
  const data = page.map(anthropicEntryOf)
  return {
    data,
    has_more: page.length < candidates.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}

/** One model in Anthropic's format, as `findModel` finds it. */
export function findForAnthropic(
  table: RouteTable,
  caller: Caller,
  id: string,
): AnthropicModelEntry | undefined {
  const route = table.findModel(id)
  return route !== undefined && findModel(table, caller, id) !== undefined
    ? anthropicEntryOf(route)
    : undefined
}

function anthropicEntryOf({ document }: Route): AnthropicModelEntry {
  const { model, createdAtS, contextLength, maxOutputTokens } = document
  return {
    type: 'model',
    id: model,
    display_name: model.slice(model.indexOf('/') + 1),
    created_at: new Date(createdAtS * 1000).toISOString(),
    max_input_tokens: contextLength,
    max_tokens: maxOutputTokens,
    lifecycle: 'active',
    capabilities: null,
    deprecated_at: null,
    line: null,
    retires_at: null,
  }
}

function entryOf({ document: { model, createdAtS } }: Route): ModelEntry {
  const [provider = ''] = model.split('/', 1)
  return { id: model, object: 'model', created: createdAtS, owned_by: provider }
}
