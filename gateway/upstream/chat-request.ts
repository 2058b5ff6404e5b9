import { itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { namesShown } from '../wire/openai-parameters.ts'
import { findDroppedOfEmbedding } from './embedding-request.ts'
import type { Failure } from './failure.ts'
import { applyAnthropicRules } from './internal/anthropic-rules.ts'
import { withoutFieldsOfTools } from './internal/extra-fields.ts'
import { adaptMessages, withSchemaInPrompt } from './internal/openai-messages.ts'
import { adaptReasoningEffort } from './internal/openai-reasoning.ts'
import {
  adaptResponseFormat,
  adaptToolChoice,
  type Fields,
  withoutProvidersTools,
  withoutSchemaKeys,
} from './internal/openai-tools.ts'
import { applyRoute, renameField } from './internal/route-parameters.ts'
import { type SignatureOrigin, withoutForeignSignatures } from './internal/signature-origin.ts'
import type { ChatCall, Dialect, FetchImage } from './provider-adapter.ts'

export type ProviderRequest = {
  /** The request to send and how to read its response, or why this provider's API cannot express it. */
  readonly call: ChatCall | Failure | Promise<ChatCall | Failure>
  /** Parameters of the caller that do not reach the provider unchanged, as `namesShown` names them. */
  readonly dropped: readonly string[]
  /**
   * Output token limit sent to the provider, per answer; `null`: none was sent. Of two the larger one, since
   * the provider may know only that.
   */
  readonly outputTokensMax: number | null
}

/**
 * The request for a provider. The route's parameter rules come first, then those of the provider's row, both by OpenAI's
 * names; then its adapter writes it.
 *
 * `body` is the caller's request and is never changed, so that a fallback starts from it again. A null at the
 * top means absent, as with OpenAI; other providers reject it.
 */
export function adaptChatRequest(request: {
  readonly body: JsonObject
  readonly mode: 'plain' | 'stream'
  readonly dialect: Dialect
  /** Set by the gateway for a request that names none; `null`: none is set. */
  readonly outputLimit: number | null
  /** Signatures that clients return without a mark (`signature-origin.ts`). */
  readonly unmarked: SignatureOrigin['unmarked']
  readonly bodyBytes: number
  readonly fetchImage: FetchImage
}): ProviderRequest {
  const { mode, dialect, outputLimit, unmarked, bodyBytes, fetchImage } = request
  const messages = withoutForeignSignatures(request.body.messages, { own: dialect.origin, unmarked })
  const isSame = outputLimit === null && messages === request.body.messages
  const limit = outputLimit === null ? {} : outputLimitField(outputLimit)
  const body = isSame ? request.body : { ...request.body, ...limit, messages }
  const { fields, dropped } = adapt(body, dialect)
  const outputTokensMax = requireLimit(fields, dialect)
  const call = dialect.adapter.chat({ fields, mode, dialect, bodyBytes, fetchImage })
  return { call, dropped, outputTokensMax }
}

/**
 * The limit that is sent. A provider that requires one gets the model's own maximum where nothing else limits the
 * response: that is what is held for it.
 */
function requireLimit(fields: Fields, dialect: Dialect): number | null {
  const limit = outputLimitIn(fields, dialect)
  const { outputLimitRequired, maxTokensField = 'max_tokens' } = dialect.quirks
  if (limit !== null || outputLimitRequired === undefined) return limit
  const required = dialect.route.outputTokensMax ?? outputLimitRequired
  fields.set(maxTokensField, required)
  return required
}

/**
 * The limit that is sent for a request which is relayed in its client's own format: that of the same request as a chat.
 *
 * @param outputLimit set by the gateway for a request that names none.
 */
export function relayedOutputLimit(
  body: JsonObject,
  dialect: Dialect,
  outputLimit: number | null,
): number | null {
  const limit = outputLimit === null ? {} : outputLimitField(outputLimit)
  return findOutputLimit({ ...body, ...limit }, dialect)
}

/** A limit of output tokens in a request that names none. Rows and routes give it the provider's own name. */
export function outputLimitField(limit: number): JsonObject {
  return { max_tokens: limit }
}

/** Parameters that this adapter would drop from a request, as `namesShown` names them. */
export function findDropped(body: JsonObject, dialect: Dialect): readonly string[] {
  return dialect.type === 'embedding' ? findDroppedOfEmbedding(body, dialect) : adapt(body, dialect).dropped
}

/**
 * Output token limit that the provider would receive, per answer; `null`: none. That is the request's own
 * limit if `route.limit` is `as_asked`, or less: never more than the model can write is requested.
 */
export function findOutputLimit(body: JsonObject, dialect: Dialect): number | null {
  const { messages, tools, response_format, ...parameters } = body // large, and not needed here
  return outputLimitIn(adapt(parameters, dialect).fields, dialect)
}

function adapt(body: JsonObject, dialect: Dialect): { fields: Fields; dropped: readonly string[] } {
  const { quirks, route } = dialect
  const dropped = new Set<string>()
  const sent = withoutProvidersTools(Object.entries(body), dropped)
  const { fields, filledIn } = applyRoute(sent, route, dropped)
  if (quirks.maxTokensField !== undefined) nameOutputLimit(fields, quirks.maxTokensField, dropped)
  if (quirks.choices === 'one' && fields.get('n') === 1) fields.delete('n') // what it does anyway
  for (const name of fields.keys())
    if (isUnwanted(name, fields, dialect)) {
      fields.delete(name)
      dropped.add(name)
    }
  if (body.stream !== true) setAll(fields, quirks.setWhenPlain ?? {}, dropped)
  adaptValues(fields, dialect, dropped)
  for (const [from, to] of Object.entries(quirks.rename ?? {})) renameField(fields, from, to, dropped)
  dropped.delete('stream_options') // the gateway implements them itself
  for (const name of filledIn) dropped.delete(name)
  return { fields, dropped: namesShown([...dropped]) }
}

function setAll(fields: Fields, values: Readonly<Record<string, unknown>>, dropped: Set<string>): void {
  for (const [name, value] of Object.entries(values)) {
    if (fields.has(name) && fields.get(name) !== value) dropped.add(name)
    fields.set(name, value)
  }
}

function isUnwanted(name: string, fields: Fields, dialect: Dialect): boolean {
  if (dialect.route.own.has(name)) return false
  const { allowed, unwanted, unwantedWhenReasoning } = dialect.quirks
  if (allowed?.has(name) === false || unwanted.has(name)) return true
  if (name === 'n' && Number(fields.get('n')) > choicesMaxOf(dialect.quirks)) return true
  if (!unwantedWhenReasoning.has(name)) return false
  return (fields.get('reasoning_effort') ?? 'none') !== 'none'
}

/** Most answers to one request that a provider gives. */
function choicesMaxOf({ choices, gemini }: Dialect['quirks']): number {
  return choices === 'one' ? 1 : (gemini?.candidatesMax ?? Number.POSITIVE_INFINITY)
}

function adaptValues(fields: Fields, dialect: Dialect, dropped: Set<string>): void {
  const { quirks, route } = dialect
  for (const [name, [min, max]] of Object.entries(quirks.clamp ?? {})) clamp(fields, name, min, max)
  if (route.outputTokensMax !== null)
    for (const name of route.limitNames) clamp(fields, name, 1, route.outputTokensMax)
  const stop = fields.get('stop')
  if (quirks.stopMax !== undefined && Array.isArray(stop) && stop.length > quirks.stopMax) {
    fields.set('stop', stop.slice(0, quirks.stopMax))
    dropped.add('stop')
  }
  if (quirks.toolChoice !== undefined) adaptToolChoice(fields, quirks.toolChoice, dropped)
  if (quirks.anthropic !== undefined) applyAnthropicRules(fields, quirks.anthropic, dropped)
  if (quirks.reasoningEffort !== undefined) adaptReasoningEffort(fields, quirks.reasoningEffort, dropped)
  let messages = adaptMessages(fields.get('messages'), quirks)
  const responseFormat = takesNoJson(fields, quirks) ? 'prompt' : quirks.responseFormat
  if (responseFormat !== undefined) {
    const unsaid = adaptResponseFormat(fields, responseFormat, dropped)
    if (unsaid !== undefined) messages = withSchemaInPrompt(messages, unsaid)
  }
  fields.set('messages', messages)
  if (quirks.extrasRefused.length > 0 && fields.has('tools'))
    fields.set('tools', withoutFieldsOfTools(fields.get('tools'), quirks.extrasRefused))
  if (quirks.schemaKeys.size === 0) return
  for (const name of ['tools', 'response_format'])
    if (fields.has(name)) fields.set(name, withoutSchemaKeys(fields.get(name), quirks.schemaKeys))
}

/** Whether JSON can be asked for in the prompt only, because of the functions in this request. */
function takesNoJson(fields: Fields, { gemini }: Dialect['quirks']): boolean {
  return gemini?.jsonWithTools === false && itemsOf(fields.get('tools')).length > 0
}

/** One limit of output tokens, under the one name that the provider supports. OpenAI's newer name wins. */
function nameOutputLimit(
  fields: Fields,
  field: 'max_tokens' | 'max_completion_tokens',
  dropped: Set<string>,
): void {
  renameField(fields, 'max_tokens', 'max_completion_tokens', dropped)
  if (field === 'max_tokens') renameField(fields, 'max_completion_tokens', 'max_tokens', dropped)
}

function clamp(fields: Fields, name: string, min: number, max: number): void {
  const value = fields.get(name)
  if (typeof value === 'number') fields.set(name, Math.min(Math.max(value, min), max))
}

function outputLimitIn(fields: Fields, { route }: Dialect): number | null {
  let limit = 0
  for (const name of route.limitNames) {
    const value = fields.get(name)
    if (typeof value === 'number' && Number.isSafeInteger(value)) limit = Math.max(limit, value)
  }
  return limit === 0 ? null : limit
}
