import type { ApiVersion } from './models.ts'
import {
  anything,
  type Check,
  flag,
  listOf,
  nullable,
  numberIn,
  oneOf,
  record,
  shape,
  tagged,
  text,
  textOr,
} from './schema.ts'

/** One block of a turn's content, its shape checked. */
export type Block = { readonly type: string; readonly [field: string]: unknown }

export type Turn = { readonly role: string; readonly content: string | readonly Block[] }

type Tool = { readonly type?: string | null; readonly name: string; readonly [field: string]: unknown }

/** A request whose shape was checked. */
export type MessagesRequest = {
  readonly model: string
  readonly messages: readonly Turn[]
  /** Not of a count of tokens. */
  readonly max_tokens?: number
  readonly stream?: boolean
  readonly system?: string | readonly Block[]
  readonly tools?: readonly Tool[]
  readonly tool_choice?: { readonly type: string; readonly name?: string }
  readonly thinking?: {
    readonly type: string
    readonly budget_tokens?: number
    readonly display?: string | null
  }
  readonly output_config?: {
    readonly effort?: string | null
    readonly format?: { readonly schema: unknown } | null
  }
  readonly stop_sequences?: readonly string[]
  readonly metadata?: { readonly user_id?: string | null }
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
  readonly cache_control?: { readonly ttl?: string } | null
}

const any = Number.MAX_SAFE_INTEGER
const idPattern = '^[a-zA-Z0-9_-]+$'
const namePattern = '^[a-zA-Z0-9_-]{1,128}$'

const cacheControl = nullable(tagged({ ephemeral: shape({}, { ttl: oneOf('5m', '1h') }) }))
const marked = { cache_control: cacheControl }
const file = shape({ file_id: text() })
const citations = shape({}, { enabled: flag })

const textBlock = shape({ text: text() }, { ...marked, citations: nullable(listOf(record)) })
const image = shape(
  {
    source: tagged({
      base64: shape({
        data: text(),
        media_type: oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp'),
      }),
      url: shape({ url: text() }),
      file,
    }),
  },
  { ...marked, transformations: nullable(record) },
)
const document = shape(
  {
    source: tagged({
      base64: shape({ data: text(), media_type: oneOf('application/pdf') }),
      text: shape({ data: text(), media_type: oneOf('text/plain') }),
      content: shape({ content: textOr(listOf(tagged({ text: textBlock, image }))) }),
      url: shape({ url: text() }),
      file,
    }),
  },
  { ...marked, citations: nullable(citations), context: nullable(text()), title: nullable(text()) },
)
const searchResult = shape(
  { content: listOf(tagged({ text: textBlock })), source: text(), title: text() },
  { ...marked, citations },
)

const results = {
  text: textBlock,
  image,
  document,
  search_result: searchResult,
  tool_reference: shape({ tool_name: text() }, marked),
}

const blocks = {
  text: textBlock,
  image,
  document,
  search_result: searchResult,
  thinking: shape({ thinking: text(), signature: text() }),
  redacted_thinking: shape({ data: text() }),
  tool_use: shape(
    { id: text({ pattern: idPattern }), name: text({ pattern: namePattern }), input: record },
    { ...marked, caller: tagged({ direct: shape({}) }), toolset_name: nullable(text()) },
  ),
  tool_result: shape(
    { tool_use_id: text({ pattern: idPattern }) },
    {
      ...marked,
      content: textOr(listOf(tagged(results))),
      is_error: flag,
      toolset_name: nullable(text()),
    },
  ),
}

const turn = shape({ role: text(), content: textOr(listOf(tagged(blocks))) })

const tools = {
  custom: shape(
    {
      name: text({ pattern: namePattern }),
      input_schema: (value, path) => record(value, path) ?? schemaType(value, path),
    },
    {
      ...marked,
      description: text(),
      strict: flag,
      allowed_callers: listOf(text()),
      defer_loading: flag,
      eager_input_streaming: nullable(flag),
      input_examples: listOf(record),
    },
  ),
  // Run by the API, and set by a route only; their options are not checked.
  web_search_20250305: record,
  web_search_20260318: record,
  web_fetch_20260318: record,
  code_execution_20260521: record,
} satisfies Readonly<Record<string, Check>>

function schemaType(value: unknown, path: string): string | undefined {
  const { type } = value as { type?: unknown }
  if (type === undefined) return `${path}.type: Field required`
  return oneOf('object')(type, `${path}.type`)
}

const display = nullable(oneOf('summarized', 'omitted'))
const parallel = { disable_parallel_tool_use: flag }

/** What a count of tokens has too. */
const counted = {
  cache_control: cacheControl,
  output_config: shape(
    {},
    {
      effort: nullable(oneOf('low', 'medium', 'high', 'xhigh', 'max')),
      format: nullable(shape({ type: oneOf('json_schema'), schema: record })),
    },
  ),
  speed: nullable(oneOf('standard', 'fast')),
  system: textOr(listOf(tagged({ text: textBlock }))),
  thinking: tagged({
    adaptive: shape({}, { display }),
    between_tools: shape({}),
    disabled: shape({}),
    enabled: shape({ budget_tokens: numberIn(1024, any, 'integer') }, { display }),
  }),
  tool_choice: tagged({
    any: shape({}, parallel),
    auto: shape({}, parallel),
    none: shape({}),
    tool: shape({ name: text() }, parallel),
  }),
  tools: listOf(tagged(tools, 'custom')),
}

const created = {
  ...counted,
  container: nullable(anything),
  diagnostics: nullable(record),
  inference_geo: nullable(text()),
  metadata: shape({}, { user_id: nullable(text({ max: 256 })) }),
  service_tier: oneOf('auto', 'standard_only'),
  stop_sequences: listOf(text()),
  stream: flag,
}

const sampling = {
  temperature: numberIn(0, 1),
  top_p: numberIn(0, 1),
  top_k: numberIn(0, any, 'integer'),
}

const always = { model: text({ min: 1 }), messages: listOf(turn) }
const checks = {
  count: shape(always, counted),
  sampled: shape({ ...always, max_tokens: numberIn(-any, any, 'integer') }, { ...created, ...sampling }),
  plain: shape({ ...always, max_tokens: numberIn(-any, any, 'integer') }, created),
}

/**
 * The first field that is missing, unknown or of the wrong type: the request types of the SDK, without the blocks of the
 * API's own tools, which the gateway never sends.
 */
export function findShapeFault(
  body: unknown,
  what: 'message' | 'count',
  version: ApiVersion,
): string | undefined {
  const check = what === 'count' ? checks.count : version.sampling ? checks.sampled : checks.plain
  return check(body, '')
}
