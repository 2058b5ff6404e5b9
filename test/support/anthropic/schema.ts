/** The first error of a value, in the words of Pydantic, which the API is checked with; `path` is where it is. */
export type Check = (value: unknown, path: string) => string | undefined

export type Fields = { readonly [field: string]: unknown }

/** An object that is no list, or `undefined`. */
export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

const where = (path: string, message: string) => (path === '' ? message : `${path}: ${message}`)
const inside = (path: string, name: string | number) => (path === '' ? String(name) : `${path}.${name}`)
const listed = (words: readonly string[]) => words.map((word) => `'${word}'`)

export const anything: Check = () => undefined

export const flag: Check = (value, path) =>
  typeof value === 'boolean' ? undefined : where(path, 'Input should be a valid boolean')

export const record: Check = (value, path) =>
  fieldsOf(value) === undefined ? where(path, 'Input should be a valid dictionary') : undefined

export function text(
  limits: { readonly min?: number; readonly max?: number; readonly pattern?: string } = {},
): Check {
  const { min = 0, max = Number.POSITIVE_INFINITY, pattern } = limits
  return (value, path) => {
    if (typeof value !== 'string') return where(path, 'Input should be a valid string')
    if (value.length < min) return where(path, `String should have at least ${min} character`)
    if (value.length > max) return where(path, `String should have at most ${max} characters`)
    if (pattern !== undefined && !new RegExp(pattern).test(value))
      return where(path, `String should match pattern '${pattern}'`)
    return undefined
  }
}

export function numberIn(min: number, max: number, kind: 'integer' | 'number' = 'number'): Check {
  return (value, path) => {
    if (typeof value !== 'number' || (kind === 'integer' && !Number.isInteger(value)))
      return where(path, `Input should be a valid ${kind}`)
    if (value < min) return where(path, `Input should be greater than or equal to ${min}`)
    if (value > max) return where(path, `Input should be less than or equal to ${max}`)
    return undefined
  }
}

export function oneOf(...words: readonly string[]): Check {
  const quoted = listed(words)
  const last = quoted.pop()
  const expected = quoted.length === 0 ? `${last}` : `${quoted.join(', ')} or ${last}`
  return (value, path) =>
    words.some((word) => word === value) ? undefined : where(path, `Input should be ${expected}`)
}

export function listOf(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return where(path, 'Input should be a valid list')
    return first(value, (item, index) => check(item, inside(path, index)))
  }
}

export const textOr =
  (check: Check): Check =>
  (value, path) =>
    typeof value === 'string' ? undefined : check(value, path)

export const nullable =
  (check: Check): Check =>
  (value, path) =>
    value === null ? undefined : check(value, path)

/** Fields that must be, fields that can be, and no others. */
export function shape(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  return (value, path) => {
    const fields = fieldsOf(value)
    if (fields === undefined) return where(path, 'Input should be a valid dictionary')
    const known = Object.entries({ ...required, ...optional })
    const fault = first(known, ([name, check]) => {
      if (name in fields) return check(fields[name], inside(path, name))
      return name in required ? where(inside(path, name), 'Field required') : undefined
    })
    if (fault !== undefined) return fault
    const extra = Object.keys(fields).find((name) => !(name in required) && !(name in optional))
    return extra === undefined ? undefined : where(inside(path, extra), 'Extra inputs are not permitted')
  }
}

/** An object whose `type` decides on its shape, and becomes a part of the path. `byDefault` is the type of one without. */
export function tagged(shapes: Readonly<Record<string, Check>>, byDefault?: string): Check {
  return (value, path) => {
    const fields = fieldsOf(value)
    if (fields === undefined)
      return where(path, 'Input should be a valid dictionary or object to extract fields from')
    const { type: given, ...rest } = fields
    const type = given ?? byDefault
    if (type === undefined) return where(path, "Unable to extract tag using discriminator 'type'")
    const check = Object.hasOwn(shapes, String(type)) ? shapes[String(type)] : undefined
    if (check !== undefined) return check(rest, inside(path, String(type)))
    const expected = listed(Object.keys(shapes)).join(', ')
    return where(
      path,
      `Input tag '${type}' found using 'type' does not match any of the expected tags: ${expected}`,
    )
  }
}

/** What `find` found in the first item in which it found anything. */
export function first<Item, Found>(
  items: readonly Item[],
  find: (item: Item, index: number) => Found | undefined,
): Found | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index)
    if (found !== undefined) return found
  }
  return undefined
}
