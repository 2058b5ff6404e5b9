import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import type { Failure } from '../../../failure.ts'
import { type AdaptedChat, isFailure } from '../../../provider-adapter.ts'
import { flatFormat, flatTool, writeToolChoice } from './flat-tools.ts'
import { writeInput } from './input.ts'

/**
 * The body of a response for a chat, one message in each step. Nothing is stored: the account is the gateway's. A failure names
 * the field that the API cannot express.
 */
export function* writeRequest({
  fields,
  mode,
  dialect,
}: AdaptedChat): Generator<undefined, JsonObject | Failure> {
  const take = (name: string) => {
    const value = fields.get(name)
    fields.delete(name)
    return value
  }
  const input = yield* writeInput(itemsOf(take('messages')))
  if (isFailure(input)) return input
  const tools = itemsOf(take('tools')).map((tool) => flatTool(tool, { strict: false }))
  const choice = writeToolChoice(take('tool_choice'))
  const format = flatFormat(take('response_format'))
  const text = merged(take('text'), { format, verbosity: take('verbosity') })
  const reasoning = merged(take('reasoning'), { effort: take('reasoning_effort') })
  const include = includeOf(take('include'), dialect.quirks.encryptsReasoning === true)
  const limit = take('max_completion_tokens')
  const obfuscation = fieldsOf(take('stream_options'))?.include_obfuscation
  for (const name of ['model', 'stream', 'store']) take(name)
  return {
    model: dialect.model,
    input,
    ...(tools.length === 0 ? {} : { tools }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(text === undefined ? {} : { text }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(include.length === 0 ? {} : { include }),
    ...(limit === undefined ? {} : { max_output_tokens: limit }),
    // The other fields have the same names in both APIs, or only the route sets them.
    ...Object.fromEntries(fields),
    store: false,
    stream: mode === 'stream',
    ...(mode === 'stream' && obfuscation !== undefined
      ? { stream_options: { include_obfuscation: obfuscation } }
      : {}),
  }
}

/** The object that a route sets, with the fields of the request; `undefined`: neither has any. */
function merged(own: unknown, said: JsonObject): JsonObject | undefined {
  const given = Object.entries(said).filter(([, value]) => value !== undefined)
  const known = fieldsOf(own)
  return known === undefined && given.length === 0 ? undefined : { ...known, ...Object.fromEntries(given) }
}

const encrypted = 'reasoning.encrypted_content'

/** Reasoning that is not stored can only return encrypted. Models without reasoning reject this. */
function includeOf(own: unknown, encryptsReasoning: boolean): readonly unknown[] {
  const given = itemsOf(own)
  return encryptsReasoning && !given.includes(encrypted) ? [...given, encrypted] : given
}
