import { fieldsOf } from '../../wire/json-fields.ts'
import { isText } from '../../wire/long-text.ts'

/** The problem of a value, and its place in it: `.role`, `[3].content`, or the value itself (empty). */
export type Fault = {
  readonly path: string
  readonly problem: string
  /** Providers that speak the client's API may take it nevertheless. */
  readonly isNative?: true
}

/**
 * The first problem of a value, if any.
 *
 * Written manually and not as a zod schema, because a check must stop at the first problem. A body of 32 MiB
 * has room for 16 million of them, and zod makes an issue of each. It also leaves the value unchanged,
 * `__proto__` included.
 */
export type Check = (value: unknown) => Fault | undefined

/** A string of at least `lengthMin` characters. */
export function text(lengthMin = 0): Check {
  const fault = wrong(lengthMin === 0 ? 'must be a string' : 'must be a non-empty string')
  return (value) => (isText(value) && value.length >= lengthMin ? undefined : fault)
}

/** One of these strings. */
export function oneOf(words: readonly string[]): Check {
  const fault = wrong(`must be one of ${words.join(', ')}`)
  return (value) => (typeof value === 'string' && words.includes(value) ? undefined : fault)
}

/** A number within bounds, both included. */
export function number(min: number, max: number): Check {
  const fault = wrong(`must be a number from ${min} to ${max}`)
  return (value) => (typeof value === 'number' && value >= min && value <= max ? undefined : fault)
}

/** A whole number within bounds, both included. */
export function whole(min: number, max = Number.MAX_SAFE_INTEGER): Check {
  const fault = wrong(`must be an integer from ${min} to ${max}`)
  return (value) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max ? undefined : fault
}

/** `true` or `false`. */
export const bool: Check = (value) => (typeof value === 'boolean' ? undefined : notBoolean)
const notBoolean = wrong('must be true or false')

/** A list whose items all pass. */
export function list(item: Check, bounds: { readonly min?: number; readonly max?: number } = {}): Check {
  const { min = 0, max = Number.POSITIVE_INFINITY } = bounds
  const notList = wrong('must be an array')
  const wrongLength = wrong(
    max < Number.POSITIVE_INFINITY ? `must have ${min} to ${max} items` : `must have at least ${min} item`,
  )
  return (value) => {
    if (!Array.isArray(value)) return notList
    if (value.length < min || value.length > max) return wrongLength
    for (let index = 0; index < value.length; index++) {
      const fault = item(value[index])
      if (fault !== undefined) return { path: `[${index}]${fault.path}`, problem: fault.problem }
    }
    return undefined
  }
}

/** An object whose named fields pass. A null counts as absent, and other fields are ignored. */
export function object(checks: Readonly<Record<string, Check>>, required: readonly string[] = []): Check {
  const checkOf = new Map(Object.entries(checks))
  const notObject = wrong('must be an object')
  return (value) => {
    const fields = fieldsOf(value)
    if (fields === undefined) return notObject
    for (const name of required)
      if (isMissing(fields[name])) return { path: `.${name}`, problem: 'is required' }
    // Iterates over the fields present, which are few: looking up each possible one costs more than all checks.
    for (const name in fields) {
      const check = checkOf.get(name)
      const field = check && fields[name]
      const fault = isMissing(field) ? undefined : check?.(field)
      if (fault !== undefined) return { path: `.${name}${fault.path}`, problem: fault.problem }
    }
    return undefined
  }
}

/** The problem found by the check that suits the value's kind. */
export function byKind(kinds: {
  readonly string: Check
  readonly list?: Check
  readonly object?: Check
}): Check {
  const names = { string: 'a string', list: 'an array', object: 'an object' }
  const kindOf = (value: unknown) => {
    if (isText(value)) return 'string'
    return Array.isArray(value) ? 'list' : fieldsOf(value) && 'object'
  }
  const allowed = [names.string, kinds.list && names.list, kinds.object && names.object].filter(Boolean)
  const fault = wrong(`must be ${allowed.join(' or ')}`)
  return (value) => {
    const kind = kindOf(value)
    const check = kind && kinds[kind]
    return check === undefined ? fault : check(value)
  }
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null
}

function wrong(problem: string): Fault {
  return { path: '', problem }
}
