import { enums, messages, oneofs } from './gemini-fields.ts'

export type Fields = { readonly [field: string]: unknown }

/** One reason why a request is not a message of the API: where, and the API's words. */
export type Violation = { readonly field: string; readonly description: string }

type Place = { readonly path: string; readonly parent: string; readonly name: string }

const packageName = 'google.ai.generativelanguage.v1beta'

/**
 * A request as its message, by Google's own rules of JSON: names in camelCase or snake_case, numbers as text, one
 * value for a list of one, enums in any case, `null` for nothing. Field names of the result are in camelCase.
 *
 * The words are those of Google's parser (`protobuf/util/internal/proto_writer.cc`), as its APIs return them:
 * https://github.com/zed-industries/zed/issues/44875, https://github.com/zed-industries/zed/issues/53919.
 */
export function parseMessage(
  type: string,
  json: Fields,
): { readonly message: Fields; readonly violations: readonly Violation[] } {
  const violations: Violation[] = []
  return { message: readMessage(type, json, '', violations), violations }
}

function readMessage(type: string, json: Fields, path: string, violations: Violation[]): Fields {
  const known = messages[type] ?? {}
  const message: Record<string, unknown> = {}
  for (const [name, given] of Object.entries(json)) {
    const field = camelCase(name)
    const kind = known[field]
    const place = { path: path === '' ? snakeCase(field) : `${path}.${snakeCase(field)}`, parent: path, name }
    if (kind === undefined) violations.push(unknownName(place, 'Cannot find field.'))
    else if (given !== null) {
      const taken = takenOneof(type, field, message)
      if (taken !== undefined) violations.push(oneofIsSet(taken, place))
      message[field] = readField(kind, given, place, violations)
    }
  }
  return message
}

function takenOneof(type: string, field: string, message: Fields): string | undefined {
  const [oneof] =
    Object.entries(oneofs[type] ?? {}).find(
      ([, members]) => members.includes(field) && members.some((member) => member in message),
    ) ?? []
  return oneof
}

function readField(kind: string, given: unknown, place: Place, violations: Violation[]): unknown {
  if (kind.endsWith('[]')) {
    const items = Array.isArray(given) ? given : [given]
    const read = (item: unknown, at: number) =>
      readOne(kind.slice(0, -2), item, { ...place, path: `${place.path}[${at}]` }, violations)
    return items.map(read)
  }
  if (kind === 'value') return given
  if (Array.isArray(given)) {
    violations.push(unknownName(place, 'Proto field is not repeating, cannot start list.'))
    return undefined
  }
  if (!kind.startsWith('map:')) return readOne(kind, given, place, violations)
  const entries = Object.entries(isObject(given) ? given : {}).map(([key, item], at) => [
    key,
    readOne(kind.slice(4), item, { ...place, path: `${place.path}[${at}].value` }, violations),
  ])
  return Object.fromEntries(entries)
}

function readOne(kind: string, given: unknown, place: Place, violations: Violation[]): unknown {
  if (messages[kind] !== undefined && isObject(given)) return readMessage(kind, given, place.path, violations)
  if (kind === 'struct' && isObject(given)) return given
  const scalar = scalars[kind]
  const type = scalar === undefined ? typeUrl(kind) : scalar.type
  if (isObject(given) && messages[kind] === undefined) {
    violations.push(
      violation(place.parent, `(${snakeCase(place.name)}), Starting an object on a scalar field`),
    )
    return undefined
  }
  const read = scalar === undefined ? findEnumValue(kind, given) : scalar.read(given)
  if (read === undefined) {
    const value = JSON.stringify(given)
    const reason =
      kind === 'bytes' && typeof given === 'string' ? `Base64 decoding failed for ${value}` : value
    violations.push(violation(place.path, `(${type}), ${reason}`))
  }
  return read
}

function findEnumValue(kind: string, given: unknown): string | undefined {
  const values = enums[kind]
  return typeof given === 'number' ? values?.[given] : values?.find((value) => value === upperCase(given))
}

const scalars: Readonly<
  Record<string, { readonly type: string; readonly read: (given: unknown) => unknown } | undefined>
> = {
  string: { type: 'TYPE_STRING', read: (given) => (typeof given === 'string' ? given : undefined) },
  bool: { type: 'TYPE_BOOL', read: (given) => (typeof given === 'boolean' ? given : undefined) },
  int32: { type: 'TYPE_INT32', read: (given) => wholeNumber(given, 2 ** 31) },
  int64: { type: 'TYPE_INT64', read: (given) => wholeNumber(given, 2 ** 63) },
  float: { type: 'TYPE_FLOAT', read: number },
  double: { type: 'TYPE_DOUBLE', read: number },
  bytes: { type: 'TYPE_BYTES', read: (given) => (isBase64(given) ? given : undefined) },
}

function number(given: unknown): number | undefined {
  if (typeof given === 'number') return given
  return typeof given === 'string' && given.trim() !== '' && Number.isFinite(Number(given))
    ? Number(given)
    : undefined
}

function wholeNumber(given: unknown, limit: number): number | undefined {
  const read = number(given)
  return read !== undefined && Number.isInteger(read) && read >= -limit && read < limit ? read : undefined
}

/** Of either alphabet, padded or not: so the documented placeholders of a signature are bytes too. */
function isBase64(given: unknown): boolean {
  return (
    typeof given === 'string' && /^[\w+/-]*={0,2}$/.test(given) && given.replace(/=+$/, '').length % 4 !== 1
  )
}

function unknownName({ parent, name }: Place, reason: string): Violation {
  const where = parent === '' ? '' : ` at '${parent}'`
  const description = `Invalid JSON payload received. Unknown name "${name}"${where}: ${reason}`
  return { field: parent, description }
}

function oneofIsSet(oneof: string, { parent, name }: Place): Violation {
  return violation(parent, `(oneof), oneof field '${oneof}' is already set. Cannot set '${name}'`)
}

function violation(field: string, rest: string): Violation {
  const where = field === '' ? '' : ` at '${field}'`
  return { field, description: `Invalid value${where} ${rest}` }
}

function typeUrl(kind: string): string {
  return `type.googleapis.com/${kind === 'struct' ? 'google.protobuf.Struct' : `${packageName}.${kind}`}`
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const upperCase = (given: unknown) => String(given).toUpperCase().replaceAll('-', '_')
const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
