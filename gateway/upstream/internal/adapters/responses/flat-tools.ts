import { fieldsOf, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'

/**
 * A tool of a chat as this API has it: without the field that a chat has it in. Tools of the provider are the same in both.
 *
 * @param unsaid of a function without the field: here it would be strict, in a chat it is not.
 */
export function flatTool(given: unknown, unsaid: { readonly strict?: boolean } = {}): unknown {
  const { function: called, custom, ...tool } = fieldsOf(given) ?? {}
  const named = fieldsOf(called)
  if (named !== undefined) return { ...tool, parameters: null, ...unsaid, ...withoutNulls(named) }
  const free = fieldsOf(custom)
  if (free === undefined) return given
  const format = fieldsOf(free.format)
  const { grammar, ...rest } = format ?? {}
  return { ...tool, ...free, ...(format === undefined ? {} : { format: { ...rest, ...fieldsOf(grammar) } }) }
}

function withoutNulls(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

/** As a chat has it, a schema is in a field of its format. */
export function flatFormat(format: unknown): unknown {
  const { json_schema: schema, ...rest } = fieldsOf(format) ?? {}
  return schema === undefined ? format : { ...rest, ...withoutNulls(fieldsOf(schema) ?? {}) }
}

/** A chat has the tool to be called in a field of the choice, and the list of allowed ones, too. */
export function writeToolChoice(choice: unknown): unknown {
  const given = fieldsOf(choice)
  if (given === undefined) return choice
  const { type, function: called, custom, allowed_tools: allowed, ...rest } = given
  const list = fieldsOf(allowed)
  if (list !== undefined) return { type, ...list, tools: objectsIn(list.tools).map(writeToolChoice) }
  return { type, ...rest, ...fieldsOf(called), ...fieldsOf(custom) }
}
