import { fieldsOf, type JsonObject } from '../json-fields.ts'
import type { Dialect } from './dialect.ts'
import { findDroppedOfEmbedding } from './embedding-request.ts'
import { withoutFieldsOfTools } from './extra-fields.ts'
import { adaptMessages, withSchemaInPrompt } from './openai-messages.ts'
import { namesShown } from './openai-parameters.ts'
import { adaptResponseFormat, adaptToolChoice, type Fields, withoutSchemaKeys } from './openai-tools.ts'

export type ProviderRequest = {
  /** The JSON to send. */
  readonly bytes: Buffer
  /** Parameters that the caller sent and that do not reach the provider whole, as `namesShown` names them. */
  readonly dropped: readonly string[]
  /** Output tokens that the provider was told to stop at, per answer; `null`: it was told nothing. */
  readonly outputTokensMax: number | null
}

/**
 * The request as an OpenAI-wire provider gets it: the route's parameter rules first, then those of the provider's
 * kind; its own name of the model; usage asked for on streams wherever that is needed (we bill by it).
 *
 * `body` is what the caller sent and stays as it is, so that a fallback starts from it again. A null at the top
 * means absent, as with OpenAI: others refuse it.
 */
export function writeOpenAiRequest(request: {
  readonly body: JsonObject
  readonly mode: 'plain' | 'stream'
  readonly dialect: Dialect
}): ProviderRequest {
  const { mode, dialect } = request
  const { fields, dropped } = adapt(request.body, dialect)
  const { quirks } = dialect
  for (const [name, value] of Object.entries(quirks.set ?? {})) fields.set(name, value)
  if (mode === 'plain')
    for (const [name, value] of Object.entries(quirks.setWhenPlain ?? {})) fields.set(name, value)
  fields.set('model', dialect.model)
  fields.set('stream', mode === 'stream')
  const asksUsage =
    mode === 'stream' && quirks.streamUsage === 'include_usage' && !dialect.route.drop.has('stream_options')
  if (asksUsage)
    fields.set('stream_options', { ...fieldsOf(fields.get('stream_options')), include_usage: true })
  else fields.delete('stream_options')
  return {
    bytes: Buffer.from(JSON.stringify(Object.fromEntries(fields))),
    dropped,
    outputTokensMax: countOf(fields.get('max_completion_tokens')) ?? countOf(fields.get('max_tokens')),
  }
}

/** What a request for this dialect's operation would lose on its way, as `namesShown` names it. */
export function findDropped(body: JsonObject, dialect: Dialect): readonly string[] {
  return dialect.type === 'embedding' ? findDroppedOfEmbedding(body, dialect) : adapt(body, dialect).dropped
}

function adapt(body: JsonObject, dialect: Dialect): { fields: Fields; dropped: readonly string[] } {
  const { quirks, route } = dialect
  const dropped = new Set<string>()
  const fields: Fields = new Map()
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue
    if (route.drop.has(name)) dropped.add(name)
    else fields.set(name, value)
  }
  for (const [from, to] of route.rename) rename(fields, from, to)
  for (const [name, value] of route.defaults) if (!fields.has(name)) fields.set(name, value)
  if (quirks.maxTokensField !== undefined) nameOutputLimit(fields, quirks.maxTokensField)
  if (quirks.choices === 'one' && fields.get('n') === 1) fields.delete('n') // what it does anyway
  for (const name of fields.keys())
    if (isUnwanted(name, fields, dialect)) {
      fields.delete(name)
      dropped.add(name)
    }
  adaptValues(fields, dialect, dropped)
  for (const [from, to] of Object.entries(quirks.rename ?? {})) rename(fields, from, to)
  dropped.delete('stream_options') // the gateway answers them itself
  return { fields, dropped: namesShown([...dropped]) }
}

function isUnwanted(name: string, fields: Fields, dialect: Dialect): boolean {
  if (dialect.route.own.has(name)) return false
  const { allowed, unwanted, unwantedWhenReasoning, choices } = dialect.quirks
  if (allowed?.has(name) === false || unwanted.has(name)) return true
  if (name === 'n' && choices === 'one') return true
  if (!unwantedWhenReasoning.has(name)) return false
  return (fields.get('reasoning_effort') ?? 'none') !== 'none'
}

function adaptValues(fields: Fields, dialect: Dialect, dropped: Set<string>): void {
  const { quirks, route } = dialect
  for (const [name, [min, max]] of Object.entries(quirks.clamp ?? {})) clamp(fields, name, min, max)
  if (route.outputTokensMax !== null)
    for (const name of ['max_tokens', 'max_completion_tokens']) clamp(fields, name, 1, route.outputTokensMax)
  const stop = fields.get('stop')
  if (quirks.stopMax !== undefined && Array.isArray(stop) && stop.length > quirks.stopMax) {
    fields.set('stop', stop.slice(0, quirks.stopMax))
    dropped.add('stop')
  }
  if (quirks.toolChoice !== undefined) adaptToolChoice(fields, quirks.toolChoice, dropped)
  if (quirks.reasoningEffort !== undefined) adaptReasoningEffort(fields, quirks.reasoningEffort)
  let messages = adaptMessages(fields.get('messages'), quirks)
  if (quirks.responseFormat !== undefined) {
    const unsaid = adaptResponseFormat(fields, quirks.responseFormat, dropped)
    if (unsaid !== undefined) messages = withSchemaInPrompt(messages, unsaid)
  }
  fields.set('messages', messages)
  if (quirks.extrasRefused.length > 0 && fields.has('tools'))
    fields.set('tools', withoutFieldsOfTools(fields.get('tools'), quirks.extrasRefused))
  if (quirks.schemaKeys.size === 0) return
  for (const name of ['tools', 'response_format'])
    if (fields.has(name)) fields.set(name, withoutSchemaKeys(fields.get(name), quirks.schemaKeys))
}

/** One limit of output tokens, under the one name that the provider knows. OpenAI's newer name wins. */
function nameOutputLimit(fields: Fields, field: 'max_tokens' | 'max_completion_tokens'): void {
  const limit = fields.get('max_completion_tokens') ?? fields.get('max_tokens')
  if (limit === undefined) return
  fields.delete('max_completion_tokens')
  fields.delete('max_tokens')
  fields.set(field, limit)
}

/** The provider's own switch, where the caller has not set it, in place of a level that it does not know. */
function adaptReasoningEffort(fields: Fields, switchName: 'thinking_type' | 'enable_thinking'): void {
  const effort = fields.get('reasoning_effort')
  if (effort === undefined) return
  fields.delete('reasoning_effort')
  const thinks = effort !== 'none'
  if (switchName === 'enable_thinking') setIfAbsent(fields, 'enable_thinking', thinks)
  else setIfAbsent(fields, 'thinking', { type: thinks ? 'enabled' : 'disabled' })
}

function setIfAbsent(fields: Fields, name: string, value: unknown): void {
  if (!fields.has(name)) fields.set(name, value)
}

function rename(fields: Fields, from: string, to: string): void {
  if (!fields.has(from)) return
  setIfAbsent(fields, to, fields.get(from))
  fields.delete(from)
}

function clamp(fields: Fields, name: string, min: number, max: number): void {
  const value = fields.get(name)
  if (typeof value === 'number') fields.set(name, Math.min(Math.max(value, min), max))
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
