import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { isText } from '../../../../wire/long-text.ts'
import { reject, type Writing } from './writing.ts'

/** The names of a request's functions. */
export function functionNamesOf(tools: unknown): readonly string[] {
  return itemsOf(tools).flatMap((tool) => {
    const name = fieldsOf(fieldsOf(tool)?.function)?.name
    return typeof name === 'string' ? name : []
  })
}

/** OpenAI's tools as declarations: schemas as they are, `parametersJsonSchema` takes JSON Schema. */
export function writeDeclarations(tools: unknown, writing: Writing): readonly JsonObject[] {
  const declared = new Set<string>()
  return itemsOf(tools).flatMap((tool, at) => {
    const { name, description, parameters } = fieldsOf(fieldsOf(tool)?.function) ?? {}
    if (typeof name !== 'string') {
      reject(writing, `tools[${at}].type`, 'must be "function" for this model')
      return []
    }
    if (declared.has(name))
      reject(writing, `tools[${at}].function.name`, 'is the name of another tool: use different names')
    declared.add(name)
    return {
      name: writing.names.sent(name),
      ...(isText(description) && description.length > 0 ? { description } : {}),
      ...(parameters === undefined || parameters === null ? {} : { parametersJsonSchema: parameters }),
    }
  })
}

type Calling = {
  readonly mode: 'NONE' | 'ANY' | 'VALIDATED'
  readonly allowedFunctionNames?: readonly string[]
}

/** OpenAI's `tool_choice`; `undefined`: the model decides, which is the default. */
export function writeCalling(
  choice: unknown,
  functions: readonly string[],
  writing: Writing,
): Calling | undefined {
  if (choice === 'none') return { mode: 'NONE' }
  if (choice === 'required') return { mode: 'ANY' }
  if (choice === undefined || choice === 'auto') return undefined
  const fields = fieldsOf(choice)
  if (fields?.type === 'function') {
    const { name } = fieldsOf(fields.function) ?? {}
    return {
      mode: 'ANY',
      allowedFunctionNames: [sentName(name, functions, 'tool_choice.function.name', writing)],
    }
  }
  const allowed = fields?.type === 'allowed_tools' ? fieldsOf(fields.allowed_tools) : undefined
  if (allowed === undefined) {
    reject(writing, 'tool_choice', 'must be "none", "auto", "required" or a function for this model')
    return undefined
  }
  const names = functionNamesOf(allowed.tools).map((name, at) =>
    sentName(name, functions, `tool_choice.allowed_tools.tools[${at}].function.name`, writing),
  )
  return { mode: allowed.mode === 'required' ? 'ANY' : 'VALIDATED', allowedFunctionNames: names }
}

function sentName(name: unknown, functions: readonly string[], param: string, writing: Writing): string {
  const known = functions.find((declared) => declared === name)
  if (known === undefined) reject(writing, param, 'must be the name of one of the tools')
  return writing.names.sent(known ?? '')
}
