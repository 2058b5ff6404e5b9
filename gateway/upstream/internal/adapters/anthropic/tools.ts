import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import type { AnthropicModel } from '../../quirks.ts'
import type { ToolNames } from '../../tool-names.ts'
import { cacheMarkOf } from './content.ts'

/** Functions as the API has them; the provider's own tools, which only a route sets, stay as they are. */
export function writeTools(
  tools: readonly unknown[],
  names: ToolNames,
  model: AnthropicModel | undefined,
): readonly unknown[] {
  return tools.map((given) => {
    const tool = fieldsOf(given) ?? {}
    const called = fieldsOf(tool.function)
    if (tool.type !== 'function' || called === undefined) return given
    const { name, description, parameters, strict } = called
    return {
      name: names.sent(String(name)),
      ...(description === undefined ? {} : { description }),
      input_schema: { type: 'object', ...fieldsOf(parameters) },
      ...(strict === true && model?.strictTools === true ? { strict } : {}),
      ...cacheMarkOf(tool),
    }
  })
}

/** `undefined`: the model decides, and may make several calls at once. */
export function writeToolChoice(
  choice: unknown,
  parallel: unknown,
  names: ToolNames,
): JsonObject | undefined {
  const type = choiceOf(choice, names)
  if (parallel !== false || type?.type === 'none') return type
  return { ...(type ?? { type: 'auto' }), disable_parallel_tool_use: true }
}

function choiceOf(choice: unknown, names: ToolNames): JsonObject | undefined {
  if (choice === undefined) return undefined
  if (choice === 'required') return { type: 'any' }
  if (typeof choice === 'string') return { type: choice }
  const name = fieldsOf(fieldsOf(choice)?.function)?.name
  return name === undefined ? fieldsOf(choice) : { type: 'tool', name: names.sent(String(name)) }
}
