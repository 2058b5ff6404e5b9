import { fieldsOf, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import { openAiParameters } from '../../../../wire/openai-parameters.ts'
import type { Dialect, OwnChat } from '../../../provider-adapter.ts'
import { isDearerService } from '../../route-parameters.ts'
import { flatFormat, flatTool } from './flat-tools.ts'

/** The place of a parameter: its name, or its field and its name there. */
type Place = readonly [field: string, inner?: string]

/** Parameters of a chat that have another name here; routes and rows use those of a chat. */
const places: Readonly<Record<string, Place>> = {
  reasoning_effort: ['reasoning', 'effort'],
  verbosity: ['text', 'verbosity'],
  response_format: ['text', 'format'],
  max_tokens: ['max_output_tokens'],
  max_completion_tokens: ['max_output_tokens'],
}

/** Parameters of a chat that this API has, too. */
const shared: ReadonlySet<string> = new Set([
  'frequency_penalty',
  'metadata',
  'moderation',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
])
/** All others of a chat have no place here. */
const chatOnly: ReadonlySet<string> = new Set(
  openAiParameters.filter((name) => places[name] === undefined && !shared.has(name)),
)

/** Least output tokens that can be asked for (API reference, max_output_tokens). */
const outputTokensMin = 16

/** The fields of a request that are to be sent. The map may be changed, its values may not. */
type Fields = Map<string, unknown>

/**
 * The client's parameters by the rules of the route and of the provider's row. What the client asked for and does not get is
 * added to `dropped`, by its own names.
 */
export function applyRules(
  body: JsonObject,
  { mode, dialect, outputTokensMax }: Pick<OwnChat, 'mode' | 'dialect' | 'outputTokensMax'>,
  dropped: Set<string>,
): Fields {
  const fields: Fields = new Map(Object.entries(body))
  for (const name of dialect.route.drop) if (name !== 'max_output_tokens') drop(fields, name, dropped)
  if (isDearerService('service_tier', fields.get('service_tier') ?? 'auto'))
    drop(fields, 'service_tier', dropped)
  for (const name of unwantedBy(dialect, fields))
    if (!dialect.route.own.has(name)) drop(fields, name, dropped)
  for (const [from, to] of dialect.route.rename) rename(fields, from, to, dropped)
  for (const { name, value, saidAs } of dialect.route.defaults)
    if (isSettable(name) && !saidAs.some((said) => isSet(read(fields, said)))) write(fields, name, value)
  fields.set('model', dialect.model)
  fields.set('stream', mode === 'stream')
  // The account is the gateway's: what is stored there belongs to no client.
  fields.set('store', false)
  if (outputTokensMax === null) fields.delete('max_output_tokens')
  else fields.set('max_output_tokens', Math.max(outputTokensMax, leastLimit(body)))
  return fields
}

/** The API's least limit, unless the client itself asks for less: then it gets the provider's rejection. */
function leastLimit({ max_output_tokens: asked }: JsonObject): number {
  return typeof asked === 'number' ? Math.min(asked, outputTokensMin) : outputTokensMin
}

/** What models of the provider reject. */
function unwantedBy({ quirks }: Dialect, fields: Fields): readonly string[] {
  const reasons = (read(fields, 'reasoning_effort') ?? 'none') !== 'none'
  return [...quirks.unwanted, ...(reasons ? quirks.unwantedWhenReasoning : [])]
}

/** Limits are set separately, and fields of the request itself by no route. */
function isSettable(name: string): boolean {
  return !chatOnly.has(name) && placeOf(name)[0] !== 'max_output_tokens'
}

function placeOf(name: string): Place {
  return (Object.hasOwn(places, name) ? places[name] : undefined) ?? [name]
}

function read(fields: Fields, name: string): unknown {
  const [field, inner] = placeOf(name)
  const value = fields.get(field)
  return inner === undefined ? value : fieldsOf(value)?.[inner]
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

function drop(fields: Fields, name: string, dropped: Set<string>): void {
  if (!isSet(read(fields, name))) return
  const [field, inner] = placeOf(name)
  if (field === 'background' && fields.get(field) === false) return // which is what it gets
  dropped.add(inner === undefined ? field : `${field}.${inner}`)
  remove(fields, name)
}

function remove(fields: Fields, name: string): void {
  const [field, inner] = placeOf(name)
  if (inner === undefined) fields.delete(field)
  else
    fields.set(
      field,
      Object.fromEntries(Object.entries(fieldsOf(fields.get(field)) ?? {}).filter(([key]) => key !== inner)),
    )
}

function write(fields: Fields, name: string, value: unknown): void {
  const [field, inner] = placeOf(name)
  if (name === 'tools')
    fields.set(
      field,
      objectsIn(value).map((tool) => flatTool(tool)),
    )
  else if (inner === undefined) fields.set(field, value)
  else
    fields.set(field, {
      ...fieldsOf(fields.get(field)),
      [inner]: inner === 'format' ? flatFormat(value) : value,
    })
}

/** A value of the client under another name; what is lost this way is added to `dropped`. */
function rename(fields: Fields, from: string, to: string, dropped: Set<string>): void {
  const value = read(fields, from)
  if (!isSet(value) || !isSettable(from) || !isSettable(to)) return
  remove(fields, from)
  if (!isSet(read(fields, to))) write(fields, to, value)
  else if (read(fields, to) !== value) dropped.add(from)
}
