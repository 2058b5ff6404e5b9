import { itemsOf } from '../../wire/json-fields.ts'
import type { Placed } from './chat-conversation.ts'

/** Names that a chat request has for fields of a Messages request. */
const ownNames: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  max_completion_tokens: 'max_tokens',
  response_format: 'output_config.format',
  reasoning_effort: 'output_config.effort',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
}

const message = /^messages\[(\d+)\](?:\.tool_calls\[(\d+)\]|\.content\[(\d+)\])?(.*)$/s

/** The client's path of a field of the chat request that was made of its request. */
export function ownMessagePathOf(
  path: string,
  placed: readonly Placed[],
  partPaths: ReadonlyMap<unknown, string>,
): string {
  const [, at, call, part, rest = ''] = message.exec(path) ?? []
  if (at === undefined) return ownNames[path] ?? path
  const source = placed[Number(at)]
  if (source === undefined) return 'messages'
  if (call !== undefined) {
    const inCall = rest.replace('.function.arguments', '.input').replace('.function', '')
    return `${source.callPaths[Number(call)] ?? source.path}${inCall}`
  }
  if (part !== undefined) {
    const own = partPaths.get(itemsOf(source.message.content)[Number(part)])
    return `${own ?? source.path}${rest.replace(/^\.(?:image_url|file).*/, '.source')}`
  }
  return `${source.path}${rest.replace('.tool_call_id', '.tool_use_id')}`
}
