import { fieldsOf, itemsOf, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import { isText, joinTexts, type Text } from '../../../../wire/long-text.ts'
import { allEncryptedIn } from '../../../../wire/own-encrypted.ts'
import { type Failure, failureOfRequest } from '../../../failure.ts'
import { isFailure } from '../../../provider-adapter.ts'

/**
 * A conversation as items. Instructions stay where they are, since a chat may have them anywhere. Each message is a step.
 */
export function* writeInput(
  messages: readonly unknown[],
): Generator<undefined, readonly JsonObject[] | Failure> {
  const items: JsonObject[] = []
  /** Calls with free text: their results have another type. */
  const customCalls = new Set<unknown>()
  for (const [at, given] of messages.entries()) {
    const message = fieldsOf(given) ?? {}
    const written = writeMessage(message, `messages[${at}]`, customCalls)
    if (isFailure(written)) return written
    items.push(...written)
    yield
  }
  return items
}

function writeMessage(
  message: JsonObject,
  path: string,
  customCalls: Set<unknown>,
): readonly JsonObject[] | Failure {
  switch (message.role) {
    case 'assistant':
      return writeAssistant(message, path, customCalls)
    case 'tool':
      return writeResult(message, path, customCalls)
    case 'function':
      return failureOfRequest(`${path}.role`, 'must be tool for this model, with the id of its call')
    default: {
      const written = writeContent(message.content, path)
      return isFailure(written) ? written : [{ type: 'message', role: message.role, ...written }]
    }
  }
}

/** The model's reasoning comes before its text and its calls. */
function writeAssistant(
  message: JsonObject,
  path: string,
  customCalls: Set<unknown>,
): readonly JsonObject[] | Failure {
  if (message.function_call !== undefined)
    return failureOfRequest(`${path}.function_call`, 'must be in tool_calls for this model')
  const thoughts = allEncryptedIn(itemsOf(message.reasoning_details)).map((data) => ({
    type: 'reasoning',
    summary: [],
    encrypted_content: data,
  }))
  const said = textOf(message.content ?? message.refusal)
  const calls = itemsOf(message.tool_calls).map((call) => writeCall(fieldsOf(call) ?? {}, customCalls))
  return [
    ...thoughts,
    ...(said.length === 0 ? [] : [{ type: 'message', role: 'assistant', content: said }]),
    ...calls,
  ]
}

function writeCall({ id, function: called, custom }: JsonObject, customCalls: Set<unknown>): JsonObject {
  const free = fieldsOf(custom)
  if (free === undefined) {
    const { name, arguments: written } = fieldsOf(called) ?? {}
    return { type: 'function_call', call_id: id, name, arguments: written ?? '' }
  }
  customCalls.add(id)
  return { type: 'custom_tool_call', call_id: id, name: free.name, input: free.input ?? '' }
}

function writeResult(
  { tool_call_id: id, content }: JsonObject,
  path: string,
  customCalls: ReadonlySet<unknown>,
): readonly JsonObject[] | Failure {
  const written = writeContent(content, path)
  if (isFailure(written)) return written
  const type = customCalls.has(id) ? 'custom_tool_call_output' : 'function_call_output'
  return [{ type, call_id: id, output: written.content }]
}

/** The text of an assistant's message, which here has no parts of other kinds. */
function textOf(content: unknown): Text {
  if (isText(content)) return content
  return joinTexts(
    objectsIn(content)
      .map(({ text, refusal }) => text ?? refusal)
      .filter(isText),
  )
}

function writeContent(
  content: unknown,
  path: string,
): { readonly content: Text | readonly JsonObject[] } | Failure {
  if (!Array.isArray(content)) return { content: isText(content) ? content : '' }
  const parts: JsonObject[] = []
  for (const [at, given] of content.entries()) {
    const part = writePart(fieldsOf(given) ?? {}, `${path}.content[${at}]`)
    if (isFailure(part)) return part
    parts.push(part)
  }
  return { content: parts }
}

function writePart(part: JsonObject, path: string): JsonObject | Failure {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image_url': {
      const image = fieldsOf(part.image_url) ?? { url: part.image_url }
      return { type: 'input_image', image_url: image.url, detail: image.detail ?? 'auto' }
    }
    case 'file':
      return { type: 'input_file', ...fieldsOf(part.file) }
    default:
      return failureOfRequest(`${path}.type`, 'must be text, image_url or file for this model')
  }
}
