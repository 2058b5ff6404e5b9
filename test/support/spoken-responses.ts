import { randomBytes } from 'node:crypto'
import {
  encryptedBy,
  type Item,
  messageItem,
  ownResponse,
  reasoningItem,
  refusalItem,
  usageOf,
} from './openai-responses.ts'
import type { Script } from './upstream.ts'

/** The words of a model, whatever API its provider has. */
export type Words = {
  readonly thought?: string
  readonly text?: string
  readonly refusal?: string
  readonly calls?: readonly Call[]
  readonly end?: 'length'
  /** Input tokens that the provider counts: 10 by default. */
  readonly inputTokens?: number
}

type Call = { readonly id: string; readonly name: string; readonly arguments: object }
type Fields = { readonly [field: string]: unknown }

const idOf = (prefix: string) => `${prefix}_${randomBytes(12).toString('hex')}`

/** The response of a model of OpenAI's Responses API, which calls tools as the request offers them. */
export function speakResponses(
  request: Fields,
  { thought, text, refusal, calls = [], end, inputTokens }: Words,
): Script {
  const tools = toolsIn(request)
  const items: readonly Item[] = [
    ...(isToCompact(request) ? [compacted()] : []),
    ...(thought === undefined ? [] : [reasoningItem(thought, idOf('rs'))]),
    ...(text === undefined ? [] : [messageItem(text, idOf('msg'))]),
    ...(refusal === undefined ? [] : [refusalItem(refusal, idOf('msg'))]),
    ...calls.map((call) => callOf(call, tools)),
  ]
  const cut =
    end === undefined ? {} : { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  const counts = inputTokens === undefined ? {} : { usage: usageOf({ input: inputTokens }) }
  return ownResponse(request, items, { ...cut, ...counts })
}

function isToCompact({ input }: Fields): boolean {
  return fieldsIn(input).at(-1)?.type === 'compaction_trigger'
}

function compacted(): Item {
  return { type: 'compaction', id: idOf('cmp'), encrypted_content: encryptedBy('what was said before') }
}

type Tool = { readonly tool: Fields; readonly namespace?: string }

/** Every tool that a request offers: in its list, in namespaces, and in items that bring tools. */
function toolsIn({ tools, input }: Fields): readonly Tool[] {
  const lists = [tools, ...fieldsIn(input).map((item) => item.tools)]
  return lists.flatMap((list) =>
    fieldsIn(list).flatMap((tool): readonly Tool[] =>
      tool.type === 'namespace'
        ? fieldsIn(tool.tools).map((inner) => ({ tool: inner, namespace: String(tool.name) }))
        : [{ tool }],
    ),
  )
}

function fieldsIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? list : []
}

/** The name that translated requests have for a tool. */
function flatNameOf({ tool, namespace }: Tool): string {
  const name = String(tool.name ?? tool.type)
  return namespace === undefined ? name : `${namespace.replace(/_+$/, '')}__${name}`
}

/** @throws Error if the request has no such tool. */
function callOf({ id: call_id, name, arguments: given }: Call, tools: readonly Tool[]): Item {
  const found = tools.find((known) => flatNameOf(known) === name)
  if (found === undefined)
    throw new Error(`The request has no tool ${name}: ${tools.map(flatNameOf).join(', ')}`)
  const { tool, namespace } = found
  const status = 'completed'
  if (tool.type === 'custom')
    return {
      type: 'custom_tool_call',
      id: idOf('ctc'),
      call_id,
      ...(namespace === undefined ? {} : { namespace }),
      name: tool.name,
      input: (given as Fields).input,
      status,
    }
  if (tool.type === 'tool_search')
    return {
      type: 'tool_search_call',
      id: idOf('tsc'),
      call_id,
      execution: tool.execution,
      arguments: given,
      status,
    }
  return {
    type: 'function_call',
    id: idOf('fc'),
    call_id,
    ...(namespace === undefined ? {} : { namespace }),
    name: tool.name,
    arguments: JSON.stringify(given),
    status,
  }
}
