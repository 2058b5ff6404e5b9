import fc from 'fast-check'

/** The operations. */
export const fuzzedPaths = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/embeddings',
] as const

/** One request as it is sent. */
export type FuzzedRequest = {
  readonly path: (typeof fuzzedPaths)[number]
  /** Mostly JSON. */
  readonly body: string
  /** `latin1` makes broken UTF-8 of whatever is not ASCII. */
  readonly encoding: 'utf8' | 'latin1'
  readonly headers: Readonly<Record<string, string>>
}

/** Models that are there: one of each kind, and of each API whose clients are relayed to it. */
export type FuzzedModels = {
  readonly chat: string
  readonly embedding: string
  readonly responses: string
  readonly messages: string
}

/**
 * Requests of every operation. Most of their parts are right, so that many of them are served and the others fail in
 * every place there is. They are composed as text: numbers that no program writes and equal names come, too.
 */
export function fuzzedRequests(models: FuzzedModels): fc.Arbitrary<FuzzedRequest> {
  const { chat, embedding, responses, messages } = models
  const modelOr = (other: string, ...usual: readonly string[]) =>
    mostly(12, word(...usual), fc.constantFrom(quote(other), '"nobody/knows"', '""'))
  const chatBody = objectOf(
    { model: modelOr(embedding, chat, responses, messages), messages: listOf(message, 1, 4) },
    chatFields,
  )
  const embeddingBody = objectOf({ model: modelOr(chat, embedding), input: embeddingInput }, embeddingFields)
  const responsesBody = objectOf(
    { model: modelOr(embedding, chat, responses, messages), input: mostly(1, anyText, listOf(item, 1, 4)) },
    responsesFields,
  )
  const messagesBody = objectOf(
    {
      model: modelOr(embedding, chat, responses, messages),
      messages: listOf(turn, 1, 4),
      max_tokens: whole(1, 400),
    },
    messagesFields,
  )
  const sentTo = (path: FuzzedRequest['path'], body: Text) => fc.record({ path: fc.constant(path), body })
  const sent = fc.oneof(
    { weight: 3, arbitrary: sentTo('/v1/chat/completions', chatBody) },
    { weight: 2, arbitrary: sentTo('/v1/responses', responsesBody) },
    { weight: 2, arbitrary: sentTo('/v1/messages', messagesBody) },
    { weight: 1, arbitrary: sentTo('/v1/embeddings', embeddingBody) },
  )
  const encoding = mostly(60, fc.constant('utf8' as const), fc.constant('latin1' as const))
  return fc
    .record({ sent, spoil: mostly(14, fc.constant(asItIs), spoiling), encoding, headers })
    .map(({ sent: { path, body }, spoil, ...rest }) => ({ path, body: spoil(body), ...rest }))
}

type Text = fc.Arbitrary<string>

/** `usual` so many times as often as `odd`. */
function mostly<Value>(
  weight: number,
  usual: fc.Arbitrary<Value>,
  odd: fc.Arbitrary<Value>,
): fc.Arbitrary<Value> {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })
}

const quote = (value: unknown): string => JSON.stringify(value)
const json = (values: fc.Arbitrary<unknown>): Text => values.map(quote)

const oddNumber = fc.constantFrom(
  ...['-0', '0', '-1', '1e999', '-1E+2', '1e-400', '0.1e1', '9007199254740991', '9007199254740993'],
  ...['-9223372036854775808', '18446744073709551616', '123456789012345678901234567890'],
)
const nested = fc
  .constantFrom(5, 100, 190, 201, 5_000)
  .map((depth) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`)
const oddWord = fc.constantFrom('null', 'true', '""', '[]', '{}', '[null]', '{"type":"text"}', '"\\ud800"')
/** Anything where something else should be. */
const oddValue: Text = fc.oneof(oddWord, oddNumber, nested, json(fc.jsonValue({ maxDepth: 3 })))

const anyText = json(
  fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ minLength: 1, maxLength: 20 }).map((text) => text.repeat(100)),
    fc.constantFrom('', 'Hi', '<|endoftext|>', '\u0000', '\ud800', 'data:image/png;base64,AAAA', '{"a":1}'),
  ),
)
const flag = json(fc.boolean())
const whole = (min: number, max: number) => mostly(8, json(fc.integer({ min, max })), oddNumber)
const number = (min: number, max: number) => mostly(8, json(fc.float({ min, max, noNaN: true })), oddNumber)
const word = (...words: readonly string[]) => fc.constantFrom(...words.map(quote))

function listOf(item: Text, minLength: number, maxLength: number): Text {
  return fc.array(mostly(30, item, oddValue), { minLength, maxLength }).map((items) => `[${items.join()}]`)
}

/** An object of all `required` fields, some `optional` ones and now and then one that is unknown or there twice. */
function objectOf(
  required: Readonly<Record<string, Text>>,
  optional: Readonly<Record<string, Text>> = {},
): Text {
  const field = (name: string, value: Text) =>
    mostly(40, value, oddValue).map((text) => `${quote(name)}:${text}`)
  const there = Object.entries(required).map(([name, value]) =>
    mostly(80, field(name, value), fc.constant('')),
  )
  const choices = Object.entries(optional).map(([name, value]) => field(name, value))
  const some = choices.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...choices), { maxLength: 5 })
  const names = [...Object.keys(required), ...Object.keys(optional), '__proto__', 'constructor', 'top_k', '']
  const stray = fc.constantFrom(...names).chain((name) => field(name, oddValue))
  return fc
    .tuple(fc.tuple(...there), some, mostly(20, fc.constant(''), stray))
    .map(([first, then, last]) => `{${[...first, ...then, last].filter((text) => text !== '').join()}}`)
}

const part = fc.oneof(
  { weight: 6, arbitrary: objectOf({ type: word('text'), text: anyText }) },
  { weight: 1, arbitrary: objectOf({ type: word('image_url'), image_url: objectOf({ url: anyText }) }) },
  {
    weight: 1,
    arbitrary: objectOf({
      type: word('input_audio'),
      input_audio: objectOf({ data: anyText, format: word('wav', 'mp3') }),
    }),
  },
  { weight: 1, arbitrary: objectOf({ type: word('file'), file: objectOf({ file_data: anyText }) }) },
)
const content = mostly(2, anyText, listOf(part, 1, 3))
const schema = objectOf({ type: word('object') }, { properties: oddValue, required: listOf(anyText, 0, 2) })
const namedFunction = objectOf({ name: word('f', 'g') }, { parameters: schema, description: anyText })
const toolCall = objectOf({
  id: word('call_1'),
  type: word('function'),
  function: objectOf({ name: word('f'), arguments: anyText }),
})
const message = fc.oneof(
  { weight: 5, arbitrary: objectOf({ role: word('user'), content }, { name: anyText }) },
  { weight: 2, arbitrary: objectOf({ role: word('system', 'developer'), content: anyText }) },
  {
    weight: 2,
    arbitrary: objectOf(
      { role: word('assistant'), content: anyText },
      { tool_calls: listOf(toolCall, 1, 2) },
    ),
  },
  {
    weight: 1,
    arbitrary: objectOf({ role: word('tool'), content: anyText, tool_call_id: word('call_1') }),
  },
)

const chatFields: Readonly<Record<string, Text>> = {
  stream: flag,
  stream_options: objectOf({ include_usage: flag }),
  temperature: number(0, 2),
  top_p: number(0, 1),
  n: whole(1, 5),
  max_tokens: whole(1, 400),
  max_completion_tokens: whole(1, 400),
  stop: mostly(2, anyText, listOf(anyText, 1, 4)),
  seed: whole(-1000, 1000),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  logit_bias: objectOf({ '50256': number(-100, 100) }),
  logprobs: flag,
  top_logprobs: whole(0, 20),
  tools: listOf(objectOf({ type: word('function'), function: namedFunction }), 1, 2),
  tool_choice: word('auto', 'none', 'required'),
  parallel_tool_calls: flag,
  response_format: objectOf({ type: word('text', 'json_object') }),
  metadata: objectOf({ a: anyText }),
  store: flag,
  user: anyText,
  service_tier: word('auto', 'flex'),
  reasoning_effort: word('low', 'high'),
  verbosity: word('low', 'high'),
}

const responsesPart = fc.oneof(
  { weight: 6, arbitrary: objectOf({ type: word('input_text', 'output_text'), text: anyText }) },
  { weight: 1, arbitrary: objectOf({ type: word('input_image'), image_url: anyText }) },
  { weight: 1, arbitrary: objectOf({ type: word('input_file', 'x_part'), file_data: anyText }) },
)
const calledBy = { call_id: word('call_1') }
const item = fc.oneof(
  {
    weight: 6,
    arbitrary: objectOf({
      role: word('user', 'user', 'assistant', 'developer'),
      content: mostly(2, anyText, listOf(responsesPart, 1, 3)),
    }),
  },
  {
    weight: 1,
    arbitrary: objectOf({ type: word('function_call'), ...calledBy, name: word('f'), arguments: anyText }),
  },
  { weight: 1, arbitrary: objectOf({ type: word('function_call_output'), ...calledBy, output: anyText }) },
  {
    weight: 1,
    arbitrary: objectOf(
      { type: word('reasoning'), id: word('rs_1'), summary: listOf(responsesPart, 0, 2) },
      { encrypted_content: anyText },
    ),
  },
  {
    weight: 1,
    arbitrary: objectOf(
      {
        type: word('custom_tool_call', 'tool_search_call', 'item_reference', 'compaction', 'x_item'),
        id: word('x_1'),
        ...calledBy,
      },
      { name: word('f'), input: anyText, arguments: oddValue, encrypted_content: anyText },
    ),
  },
)
const responsesFields: Readonly<Record<string, Text>> = {
  stream: flag,
  instructions: anyText,
  temperature: number(0, 2),
  top_p: number(0, 1),
  max_output_tokens: whole(17, 400),
  tools: listOf(
    fc.oneof(
      objectOf({ type: word('function'), name: word('f', 'g'), parameters: schema }, { strict: flag }),
      objectOf({ type: word('custom', 'web_search', 'x_tool'), name: word('h') }, { format: oddValue }),
    ),
    1,
    2,
  ),
  tool_choice: word('auto', 'none', 'required'),
  parallel_tool_calls: flag,
  text: objectOf({ format: objectOf({ type: word('text', 'json_object') }) }, { verbosity: word('low') }),
  reasoning: objectOf({ effort: word('low', 'high') }, { summary: word('auto') }),
  metadata: objectOf({ a: anyText }),
  include: listOf(word('reasoning.encrypted_content', 'message.output_text.logprobs'), 0, 2),
  store: flag,
  truncation: word('auto', 'disabled'),
  service_tier: word('auto', 'flex'),
  prompt_cache_key: anyText,
}

const mark = objectOf({ type: word('ephemeral') }, { ttl: word('5m', '1h') })
const block = fc.oneof(
  { weight: 6, arbitrary: objectOf({ type: word('text'), text: anyText }, { cache_control: mark }) },
  {
    weight: 1,
    arbitrary: objectOf({
      type: word('image', 'document'),
      source: objectOf({ type: word('base64', 'url'), media_type: word('image/png'), data: anyText }),
    }),
  },
  {
    weight: 1,
    arbitrary: objectOf({
      type: word('tool_use'),
      id: word('call_1'),
      name: word('f'),
      input: mostly(2, fc.constant('{}'), oddValue),
    }),
  },
  {
    weight: 1,
    arbitrary: objectOf({ type: word('tool_result'), tool_use_id: word('call_1'), content: anyText }),
  },
  { weight: 1, arbitrary: objectOf({ type: word('thinking'), thinking: anyText, signature: anyText }) },
  { weight: 1, arbitrary: objectOf({ type: word('redacted_thinking', 'x_block'), data: anyText }) },
)
const turn = objectOf({
  role: word('user', 'user', 'assistant', 'system'),
  content: mostly(2, anyText, listOf(block, 1, 3)),
})
const messagesFields: Readonly<Record<string, Text>> = {
  stream: flag,
  system: mostly(2, anyText, listOf(block, 1, 2)),
  temperature: number(0, 1),
  top_p: number(0, 1),
  top_k: whole(1, 40),
  stop_sequences: listOf(anyText, 1, 4),
  tools: listOf(
    fc.oneof(
      objectOf({ name: word('f', 'g'), input_schema: schema }, { defer_loading: flag, cache_control: mark }),
      objectOf({ type: word('web_search_20250305', 'x_tool'), name: word('h') }),
    ),
    1,
    2,
  ),
  tool_choice: objectOf({ type: word('auto', 'any', 'none') }, { disable_parallel_tool_use: flag }),
  thinking: objectOf({ type: word('adaptive', 'enabled', 'disabled') }, { budget_tokens: whole(1, 300) }),
  output_config: objectOf({ effort: word('low', 'high') }, { format: oddValue }),
  metadata: objectOf({ user_id: anyText }),
  service_tier: word('auto', 'standard_only'),
  speed: word('fast'),
  container: anyText,
  context_management: oddValue,
}

const token = json(fc.nat({ max: 100_000 }))
const filledText = json(fc.string({ minLength: 1, maxLength: 40 }))
const embeddingInput = fc.oneof(
  { weight: 2, arbitrary: filledText },
  { weight: 3, arbitrary: listOf(filledText, 1, 12) },
  { weight: 1, arbitrary: listOf(token, 1, 30) },
  {
    weight: 1,
    arbitrary: fc.array(token, { minLength: 1, maxLength: 8 }).map((list) => `[[${list.join()}],[1]]`),
  },
  { weight: 1, arbitrary: fc.constantFrom(200, 3_000, 9_000).map((count) => quote(Array(count).fill('x'))) },
)
const embeddingFields: Readonly<Record<string, Text>> = {
  encoding_format: word('float', 'base64'),
  dimensions: whole(1, 3),
  user: anyText,
}

const manyHeaders = fc.record(
  {
    'content-type': mostly(
      20,
      fc.constantFrom('application/json', 'application/json; charset=utf-8'),
      fc.constantFrom('text/plain', 'json', 'multipart/form-data'),
    ),
    // Never so short that it could run out: what would be rejected then is not the body.
    'x-gateway-timeout-ms': mostly(
      4,
      fc.constantFrom('60000', '600000'),
      fc.constantFrom('-1', 'soon', '1e9'),
    ),
    'x-gateway-max-cost-rub': fc.constantFrom('1000', '0.001', '0', '-1', 'little', '0.0000000001'),
    'x-gateway-strict-params': fc.constantFrom('true', 'false', 'yes'),
    'x-gateway-no-fallback': fc.constantFrom('true', 'false', ''),
    'idempotency-key': fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 20 }),
    origin: fc.constantFrom('https://app.example', 'null'),
  },
  { requiredKeys: ['content-type'] },
)

const headers: fc.Arbitrary<FuzzedRequest['headers']> = mostly<FuzzedRequest['headers']>(
  4,
  fc.constant({ 'content-type': 'application/json' }),
  manyHeaders,
)

type Spoil = (body: string) => string
const asItIs: Spoil = (body) => body
/** What makes it no JSON, or another one. */
const spoiling: fc.Arbitrary<Spoil> = fc.oneof(
  fc.nat(2_000).map(
    (at): Spoil =>
      (body) =>
        body.slice(0, at % (body.length + 1)),
  ),
  fc.tuple(fc.nat(2_000), fc.constantFrom('', '"', '}', ']', ',', ':', '\\', '\u0000', '\u2028', '1')).map(
    ([at, put]): Spoil =>
      (body) => {
        const place = at % (body.length + 1)
        return body.slice(0, place) + put + body.slice(place + 1)
      },
  ),
  fc.constantFrom<Spoil>(
    (body) => `\ufeff${body}`,
    (body) => ` \r\n\t${body}\n`,
    (body) => body + body,
    (body) => `[${body}]`,
    (body) => body.padEnd(70_000),
    (body) => body.replaceAll('"', "'"),
  ),
)
