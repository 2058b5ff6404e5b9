import fc from 'fast-check'
import { z } from 'zod'
import type { Contract } from '#cabinet/api/contract'

/** One call of an endpoint as it is sent. */
export type FuzzedCall = {
  /** With its query. */
  readonly url: string
  /** Mostly JSON; `undefined`: none. */
  readonly body: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** `If-Match` is to name the version that is there. */
  readonly isCurrent: boolean
}

/** Ids that a caller may know, his own and others, by the name of a parameter. */
export type KnownIds = Readonly<Record<string, readonly string[]>>

/**
 * Calls of an endpoint, made of its contract: most of their parts are as it takes them, so that many are carried out and
 * the others fail in every place there is. Composed as text: numbers that no program writes and equal names come, too.
 */
export function fuzzedCalls({ url, params, query, body }: Contract, ids: KnownIds): fc.Arbitrary<FuzzedCall> {
  const path = fc
    .record(mapOf(params?.shape ?? {}, (name) => mostly(6, anId(ids, name), oddSegment)))
    .map((said) => url.replaceAll(/:([a-z_]+)/g, (_, name) => encodeURIComponent(String(said[name]))))
  const asked = fc.tuple(fieldsOf(query, ids), mostly(8, fc.constant(''), strayQuery))
  const text = body === undefined ? fc.constant(undefined) : bodyOf(body, ids)
  return fc.record({ path, asked, text, headers, isCurrent: fc.boolean() }).map((call) => ({
    url: `${call.path}?${queryOf(call.asked[0])}${call.asked[1]}`,
    body: call.text,
    headers: call.headers,
    isCurrent: call.isCurrent,
  }))
}

type Text = fc.Arbitrary<string>
type Schema = z.core.JSONSchema.BaseSchema

/** `usual` so many times as often as `odd`. */
function mostly<Value>(weight: number, usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>) {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })
}

function mapOf<Value>(shape: object, make: (name: string) => Value): Record<string, Value> {
  return Object.fromEntries(Object.keys(shape).map((name) => [name, make(name)]))
}

const quote = (value: unknown): string => JSON.stringify(value)

const nested = fc
  .constantFrom(5, 100, 5_000, 20_000)
  .map((depth) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`)
const oddNumber = fc.constantFrom(
  ...['-0', '0', '-1', '1.5', '1e400', '-1E+2', '1e-400', '2147483648', '9007199254740993'],
  ...['-9223372036854775808', '9223372036854775808', '123456789012345678901234567890'],
)
const oddWords = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfffy',
  '\u202edecneirepxe',
  '‏עברית',
  '👩‍🚀',
  '\ufeff',
  '__proto__',
  'constructor',
  'null',
  '1e400',
  '-1',
  'NaN',
  "'; drop table users; --",
  '%00',
  '../../etc',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999Z',
  '2026-02-29T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '2026-11-22',
  '2026-11-22T09:00:00Z',
  '2000-01-01',
  '2999-12-31',
  '0001-01-01T00:00:00.000000Z',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '9223372036854775808',
  '99999999999999999999',
  '-0.0000000001',
  '1000000000',
  'Mars/Olympus',
  '=cmd()',
  'a\r\nb: c',
  '{"a":1}',
]
const anyWord = fc.oneof(
  fc.constantFrom(...oddWords),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ minLength: 1, maxLength: 20 }).map((text) => text.repeat(60)),
)
const oddValue: Text = fc.oneof(
  fc.constantFrom('null', 'true', '[]', '{}', '[null]', '{"__proto__":{"a":1}}', '"\\ud800"', '"\\u0000"'),
  oddNumber,
  nested,
  anyWord.map(quote),
  fc.jsonValue({ maxDepth: 3 }).map(quote),
)
const oddSegment = anyWord.map((text) => (text === '' ? '%' : text).toWellFormed())

/** Mostly one of the expected values. */
function anId(ids: KnownIds, name: string): Text {
  const all = fc.constantFrom(...Object.values(ids).flat())
  const own = ids[name]
  return own === undefined ? all : mostly(4, fc.constantFrom(...own), all)
}

/** What fields of a name usually hold, where their schema does not say enough. */
function usualWord(name: string, ids: KnownIds): Text | undefined {
  const words: Readonly<Record<string, Text>> = {
    email: fc
      .string({ unit: 'grapheme-ascii', maxLength: 12 })
      .map((text) => `${text.replaceAll(/\W/g, 'x')}@x.example`),
    token: fc.base64String({ maxLength: 44 }),
    code: fc.constantFrom('000000', '123 456'),
    password: fc.constantFrom('short', 'p'.repeat(129), 'a long enough password'),
    new_password: fc.constantFrom('short', 'p'.repeat(129)),
    cursor: cursorAround(ids),
    time_zone: fc.constantFrom('Europe/Moscow', 'Asia/Kolkata', 'UTC', 'Etc/GMT+12', 'europe/moscow'),
    model: fc.constantFrom('fuzz/model', 'fuzz/none', 'fuzz/*'),
    from: fc.constantFrom('2026-11-01', '2026-11-22T09:00:00Z', '2026-11-22T09:00:00+03:00', '2000-01-01'),
    to: fc.constantFrom('2026-11-22', '2999-12-31', '2026-11-22T10:00:00Z'),
    limit: fc.constantFrom('1', '2', '200', '201', '0', '1e1', '0x10'),
  }
  if (/(^|_)id$/.test(name)) return anId(ids, name)
  if (name.endsWith('_rub')) return fc.constantFrom('1', '0.000000001', '-1', '1e3', '999999999999')
  if (name.startsWith('accept_')) return undefined
  return words[name]
}

/** Places in some list, most of them in another one. */
function cursorAround(ids: KnownIds): Text {
  const id = anId(ids, '')
  const at = fc.constantFrom(
    '2026-11-22T09:00:00.000000Z',
    '0000-01-01T00:00:00.000000Z',
    '9999-12-31T23:59:59.999999Z',
  )
  const position = fc.oneof(
    id.map((after) => ({ after })),
    id.map((request_id) => ({ request_id })),
    fc.constantFrom('1', '2', '999999999999999999', '0').map((ledger_seq) => ({ ledger_seq })),
    fc.tuple(at, id),
    fc.constantFrom('1', '9999999999999999999', '9223372036854775807'),
    fc.jsonValue({ maxDepth: 2 }),
  )
  return position.map((said) => Buffer.from(quote(said)).toString('base64url'))
}

function schemaOf(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
}

/** Names and values of a query, as text. */
function fieldsOf(
  schema: z.ZodObject | undefined,
  ids: KnownIds,
): fc.Arbitrary<Partial<Record<string, string>>> {
  const properties = schema === undefined ? {} : (schemaOf(schema).properties ?? {})
  const cursors = cursorAround(ids)
  const isOfThisList = (text: string) => schema?.shape.cursor?.safeParse(text).success === true
  const value = (name: string) =>
    name === 'cursor'
      ? mostly(5, cursors.filter(isOfThisList), cursors)
      : mostly(12, jsonOf(properties[name] as Schema, name, ids).map(unquoted), anyWord)
  const requiredKeys = Object.keys(properties).filter((name) =>
    schemaOf(schema ?? z.object()).required?.includes(name),
  )
  return fc.record(mapOf(properties, value), { requiredKeys })
}

function unquoted(text: string): string {
  const said: unknown = JSON.parse(text)
  return typeof said === 'string' ? said : text
}

function queryOf(fields: Partial<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value = '']) => `${name}=${encodeURIComponent(value.toWellFormed())}`)
    .join('&')
}

const strayQuery = fc.constantFrom(
  '&limit=1&limit=2',
  '&%',
  '&%ff=%fe',
  '&__proto__=1',
  '&a[b]=c',
  '&=',
  '&cursor=',
)

function bodyOf(schema: z.ZodObject, ids: KnownIds): Text {
  const whole = jsonOf(schemaOf(schema), '', ids)
  return fc
    .tuple(mostly(20, whole, oddValue), mostly(14, fc.constant(asItIs), spoiling))
    .map(([text, spoil]) => spoil(text))
}

/** JSON that a schema takes, most of the time. */
function jsonOf(schema: Schema, name: string, ids: KnownIds): Text {
  const { type, properties, required = [], items, anyOf, enum: choices, const: only } = schema
  if (only !== undefined) return mostly(8, fc.constant(quote(only)), oddValue)
  if (choices !== undefined) return mostly(8, fc.constantFrom(...choices.map(quote)), oddValue)
  const ofSomeKind = anyOf?.map((one) => jsonOf(one as Schema, name, ids))
  if (ofSomeKind !== undefined) return fc.oneof(...ofSomeKind)
  if (properties !== undefined) return objectOf(properties as Record<string, Schema>, required, ids)
  const byType: Readonly<Record<string, Text>> = {
    null: fc.constant('null'),
    boolean: fc.boolean().map(quote),
    integer: fc.integer({ min: 1, max: 1_000 }).map(quote),
    number: fc.integer({ min: 1, max: 1_000 }).map(quote),
    string: (usualWord(name, ids) ?? fc.constantFrom('a word', 'another word')).map(quote),
  }
  if (type === 'array')
    return fc
      .array(jsonOf((items ?? {}) as Schema, 'model', ids), { maxLength: 3 })
      .map((list) => `[${list.join()}]`)
  const usual = byType[String(type)] ?? usualWord(name, ids)?.map(quote) ?? fc.constant('true')
  return mostly(12, usual, oddValue)
}

function objectOf(properties: Record<string, Schema>, required: readonly string[], ids: KnownIds): Text {
  const field = (name: string) =>
    jsonOf(properties[name] ?? {}, name, ids).map((text) => `${quote(name)}:${text}`)
  const names = Object.keys(properties)
  const parts = names.map((name) => mostly(required.includes(name) ? 40 : 1, field(name), fc.constant('')))
  const stray = fc
    .tuple(fc.constantFrom(...names, '__proto__', 'constructor', 'role', ''), oddValue)
    .map(([name, text]) => `${quote(name)}:${text}`)
  return fc
    .tuple(fc.tuple(...parts), mostly(12, fc.constant(''), stray))
    .map(([said, last]) => `{${[...said, last].filter((text) => text !== '').join()}}`)
}

type Spoil = (body: string) => string
const asItIs: Spoil = (body) => body
const spoiling: fc.Arbitrary<Spoil> = fc.oneof(
  fc.nat(2_000).map(
    (at): Spoil =>
      (body) =>
        body.slice(0, at % (body.length + 1)),
  ),
  fc.constantFrom<Spoil>(
    (body) => `\ufeff${body}`,
    (body) => ` \r\n\t${body}\n`,
    (body) => body + body,
    (body) => `[${body}]`,
    (body) => body.padEnd(64 * 1024),
    (body) => body.padEnd(64 * 1024 + 1),
    (body) => body.replaceAll('"', "'"),
  ),
)

const oddHeaders = fc.record(
  {
    'content-type': fc.constantFrom(
      'application/json; charset=utf-8',
      'text/plain',
      'json',
      'multipart/form-data',
      '',
    ),
    'if-match': fc.constantFrom(
      '*',
      '""',
      '"x"',
      'W/"1-x"',
      `"${'9'.repeat(100)}"`,
      '"a", "b"',
      '"-1"',
      '"1e9"',
    ),
    'idempotency-key': fc.constantFrom('', 'again', ' ', 'k'.repeat(256), '\t', '{}'),
    'if-none-match': fc.constantFrom('*', '"x"'),
    'accept-language': fc.constantFrom('en', 'ru;q=2', '*', ',,,,', 'x'.repeat(2_000)),
    'x-request-id': fc.constantFrom('x', '-'.repeat(36), 'f'.repeat(36)),
    'user-agent': fc.constantFrom('', 'a'.repeat(4_000), '\u00ff\u0080'),
    'transfer-encoding': fc.constantFrom('identity'),
  },
  { requiredKeys: [] },
)

const headers: fc.Arbitrary<FuzzedCall['headers']> = mostly<FuzzedCall['headers']>(
  3,
  fc.constant({}),
  oddHeaders as fc.Arbitrary<FuzzedCall['headers']>,
)
