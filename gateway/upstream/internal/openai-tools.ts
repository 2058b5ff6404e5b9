import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import type { ProviderQuirks } from './quirks.ts'

/** Parameters by name. A Map, not an object: a parameter named `__proto__` is plain data. */
export type Fields = Map<string, unknown>

/** Rejected by every provider if there are no tools. */
const aboutTools: ReadonlySet<string> = new Set(['tools', 'tool_choice', 'parallel_tool_calls'])
/** Kinds of tools that callers run; all others are a provider's. */
const callersKinds: ReadonlySet<unknown> = new Set(['function', 'custom'])

/**
 * The caller's tools, without those that the provider would run and bill: they count as dropped. The very
 * same list if there are none.
 */
export function withoutProvidersTools(sent: readonly Sent[], dropped: Set<string>): readonly Sent[] {
  const tools = sent.find(([name]) => name === 'tools')?.[1]
  if (!Array.isArray(tools)) return sent
  const own = tools.filter((tool) => callersKinds.has(fieldsOf(tool)?.type))
  if (own.length === tools.length) return sent
  dropped.add('tools')
  if (own.length === 0) return sent.filter(([name]) => !aboutTools.has(name))
  return sent.map((field) => (field[0] === 'tools' ? ['tools', own] : field))
}

type Sent = readonly [name: string, value: unknown]

/** Translates a `tool_choice` for the provider. A choice that it cannot enforce counts as dropped. */
export function adaptToolChoice(
  fields: Fields,
  known: NonNullable<ProviderQuirks['toolChoice']>,
  dropped: Set<string>,
): void {
  const choice = fields.get('tool_choice')
  const kind = fieldsOf(choice) === undefined ? choice : 'named'
  if (kind !== 'none' && kind !== 'required' && kind !== 'named') return
  const said = known[kind]
  if (said === undefined) return
  if (said === 'without_tools') {
    // A model that sees no tools calls none.
    for (const name of aboutTools) fields.delete(name)
    return
  }
  fields.set('tool_choice', said)
  if (said !== 'any') dropped.add('tool_choice')
}

/**
 * Translates a `response_format` for the provider, `prompt`: for one that takes none now. Returns the schema that it
 * does not accept, which is then added to the prompt. A schema that is only in the prompt counts as dropped.
 */
export function adaptResponseFormat(
  fields: Fields,
  known: NonNullable<ProviderQuirks['responseFormat']> | 'prompt',
  dropped: Set<string>,
): unknown {
  const format = fieldsOf(fields.get('response_format'))
  if (known === 'prompt' || (known === 'schema_only' && format?.type === 'json_object'))
    return schemaWithoutFormat(fields, format, dropped)
  if (known === 'json_schema' && format?.type === 'json_object') {
    const json_schema = { name: 'answer', schema: anyObject }
    fields.set('response_format', { type: 'json_schema', json_schema })
  }
  if (known !== 'json_object' || format?.type !== 'json_schema') return undefined
  fields.set('response_format', { type: 'json_object' })
  dropped.add('response_format')
  return fieldsOf(format.json_schema)?.schema
}

const anyObject = { type: 'object' }

/** The schema of a format that the request is then without: any object for `json_object`. */
function schemaWithoutFormat(fields: Fields, format: JsonObject | undefined, dropped: Set<string>): unknown {
  if (format === undefined || format.type === 'text') return undefined
  fields.delete('response_format')
  dropped.add('response_format')
  return fieldsOf(format.json_schema)?.schema ?? anyObject
}

/** Fields of a schema whose own fields are names and not keywords. */
const named: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
/** Fields of a schema that hold values and not schemas. */
const literal: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', 'required'])

/** Tools, or a response format, without some keywords of their schemas. Properties of those names stay. */
export function withoutSchemaKeys(given: unknown, unwanted: ReadonlySet<string>): unknown {
  if (Array.isArray(given)) return given.map((item) => withoutSchemaKeys(item, unwanted))
  const fields = fieldsOf(given)
  if (fields === undefined) return given
  const kept = Object.entries(fields).filter(([name]) => !unwanted.has(name))
  return Object.fromEntries(
    kept.map(([name, value]) => {
      if (literal.has(name)) return [name, value]
      if (named.has(name)) return [name, withoutKeysOfEach(value, unwanted)]
      return [name, withoutSchemaKeys(value, unwanted)]
    }),
  )
}

function withoutKeysOfEach(schemas: unknown, unwanted: ReadonlySet<string>): unknown {
  const fields = fieldsOf(schemas)
  if (fields === undefined) return schemas
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, withoutSchemaKeys(schema, unwanted)]),
  )
}
