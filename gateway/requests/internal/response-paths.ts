import type { JsonObject } from '../../wire/json-fields.ts'

/** Where a message of a chat and its calls came from. */
export type MessageSource = {
  readonly path: string
  readonly callPaths: readonly string[]
  readonly role: unknown
}

/** Names that a chat request has for fields of a Responses request. */
const ownNames: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
}

const message = /^messages\[(\d+)\](?:\.tool_calls\[(\d+)\])?(.*)$/s

/** The client's path of a field of the chat request that was made of its request. */
export function ownPathOf(path: string, sources: readonly MessageSource[]): string {
  const [, at, call, rest = ''] = message.exec(path) ?? []
  if (at === undefined) return ownNames[path] ?? path
  const source = sources[Number(at)]
  if (source === undefined) return 'input'
  if (call !== undefined)
    return `${source.callPaths[Number(call)] ?? source.path}${rest.replace(/^\.function/, '')}`
  if (!source.path.startsWith('input[')) return source.path // a text that is not in an item
  const inItem = rest
    .replace('.image_url.url', '.image_url')
    .replace('.file.', '.')
    .replace('.tool_call_id', '.call_id')
  return `${source.path}${source.role === 'tool' ? inItem.replace(/^\.content/, '.output') : inItem}`
}

export function sourceOf(placed: {
  readonly message: JsonObject
  readonly path: string
  readonly callPaths: readonly string[]
}): MessageSource {
  const { path, callPaths } = placed
  return { path, callPaths, role: placed.message.role }
}
