import fc from 'fast-check'

/** One request as it is sent. */
export type FuzzedRequest = {
  readonly path: '/v1/chat/completions' | '/v1/embeddings'
  /** Mostly JSON. */
  readonly body: string
  /** `latin1` makes broken UTF-8 of whatever is not ASCII. */
  readonly encoding: 'utf8' | 'latin1'
  readonly headers: Readonly<Record<string, string>>
}

/** Models that are there: one of each kind. */
export type FuzzedModels = { readonly chat: string; readonly embedding: string }

/**
 * Requests of both operations. Most of their parts are right, so that many of them are served and the others fail in
 * every place there is. They are composed as text: numbers that no program writes and equal names come, too.
 */
export function fuzzedRequests({ chat, embedding }: FuzzedModels): fc.Arbitrary<FuzzedRequest> {
  const modelOr = (model: string, other: string) =>
    mostly(12, fc.constant(quote(model)), fc.constantFrom(quote(other), '"nobody/knows"', '""'))
  const chatBody = objectOf({ model: modelOr(chat, embedding), messages: listOf(message, 1, 4) }, chatFields)
  const embeddingBody = objectOf({ model: modelOr(embedding, chat), input: embeddingInput }, embeddingFields)
  const sent = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ path: fc.constant('/v1/chat/completions' as const), body: chatBody }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ path: fc.constant('/v1/embeddings' as const), body: embeddingBody }),
    },
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
