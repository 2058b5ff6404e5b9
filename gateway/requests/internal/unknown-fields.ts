import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import type { DroppedField } from '../dropped-field.ts'

/**
 * What the parts of a request have besides the fields that are read, by the name that its client reads. A chat has no place for
 * it; a provider that gets the client's own request may take it for a reference to content elsewhere.
 */
type Unknown = Iterable<Pick<DroppedField, 'name' | 'path'>>

const ofEveryItem = [
  ...['type', 'id', 'status', 'role', 'content', 'phase', 'end_turn', 'created_by', 'name', 'namespace'],
  ...['call_id', 'caller', 'async', 'arguments', 'input', 'output', 'execution', 'tools'],
  ...['summary', 'encrypted_content'],
]
const itemFields: ReadonlySet<string> = new Set(ofEveryItem)

const ofEveryPart = ['type', 'id', 'status', 'cache_control', 'prompt_cache_breakpoint']
const textFields = new Set([...ofEveryPart, 'text', 'annotations', 'logprobs'])
const partFields: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ...['input_text', 'output_text', 'text', 'summary_text'].map((type) => [type, textFields] as const),
  ['refusal', new Set([...ofEveryPart, 'refusal'])],
  ['input_image', new Set([...ofEveryPart, 'image_url', 'file_id', 'detail'])],
  ['input_file', new Set([...ofEveryPart, 'file_data', 'filename', 'file_id', 'file_url', 'detail'])],
  ['input_audio', new Set([...ofEveryPart, 'input_audio'])],
])

/** Of an item of the Responses API that has a place in a chat, and of its parts. Pure. */
export function* unknownInItem(kind: string, item: JsonObject, path: string): Unknown {
  yield* unknownIn(item, itemFields, `input.${kind}`, path)
  for (const field of ['content', 'output'])
    for (const [at, given] of itemsOf(item[field]).entries()) {
      const part = fieldsOf(given) ?? {}
      const known = partFields.get(part.type)
      if (known !== undefined) yield* unknownIn(part, known, `input.${part.type}`, `${path}.${field}[${at}]`)
    }
}

const ofEveryBlock = ['type', 'cache_control']
const blockFields: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['text', new Set([...ofEveryBlock, 'text', 'citations'])],
  ['image', new Set([...ofEveryBlock, 'source'])],
  ['document', new Set([...ofEveryBlock, 'source', 'title', 'context', 'citations'])],
  ['search_result', new Set([...ofEveryBlock, 'source', 'title', 'content', 'citations'])],
  ['thinking', new Set([...ofEveryBlock, 'thinking', 'signature'])],
  ['redacted_thinking', new Set([...ofEveryBlock, 'data'])],
  ['tool_use', new Set([...ofEveryBlock, 'id', 'name', 'input', 'caller', 'toolset_name'])],
  ['tool_result', new Set([...ofEveryBlock, 'tool_use_id', 'content', 'is_error', 'toolset_name'])],
  ['tool_reference', new Set([...ofEveryBlock, 'tool_name'])],
])
const sourceFields: ReadonlySet<string> = new Set(['type', 'media_type', 'data', 'url', 'content', 'file_id'])

/** Of a block of Messages that has a place in a chat, of its source and of the blocks in it. Pure. */
export function* unknownInBlock(block: JsonObject, place: 'messages' | 'system', path: string): Unknown {
  const known = blockFields.get(block.type)
  if (known === undefined) return
  yield* unknownIn(block, known, `${place}.${block.type}`, path)
  const source = fieldsOf(block.source) ?? {}
  yield* unknownIn(source, sourceFields, `${place}.${block.type}.source`, `${path}.source`)
  for (const [within, at] of [
    [block.content, `${path}.content`],
    [source.content, `${path}.source.content`],
  ] as const)
    for (const [index, inner] of itemsOf(within).entries())
      yield* unknownInBlock(fieldsOf(inner) ?? {}, place, `${at}[${index}]`)
}

/** Only the first of a part: one is as good as a thousand. */
function* unknownIn(fields: JsonObject, known: ReadonlySet<string>, name: string, path: string): Unknown {
  const field = Object.keys(fields).find((each) => !known.has(each) && (fields[each] ?? null) !== null)
  if (field !== undefined) yield { name: `${name}.${field}`, path: `${path}.${field}` }
}
