import { isTooDeep } from './json-text.ts'
import { LongText } from './long-text.ts'

declare global {
  /** "JSON.parse source text access", which V8 has and TypeScript's library has not yet. */
  interface JSON {
    /** A value that `JSON.stringify` writes as this very text. */
    rawJSON(text: string): object
    isRawJSON(value: unknown): boolean
    parse(
      text: string,
      revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
  }
}

/**
 * A JSON object with unchecked fields. In a request, a number beyond 2^53 is `JSON.rawJSON`, which no check
 * takes for a number (`requests/json-body.ts`).
 */
export type JsonObject = { readonly [field: string]: unknown }

/** The value as an object with unchecked fields, or `undefined` when it is none: an array, a raw number, a long text. */
export function fieldsOf(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return JSON.isRawJSON(value) || value instanceof LongText ? undefined : (value as JsonObject)
}

/** The items of a JSON array, or none if it is no array. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects among the items of a JSON array. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return itemsOf(value)
    .map(fieldsOf)
    .filter((item) => item !== undefined)
}

/**
 * The value of a JSON text, or `undefined` when it is no JSON. A leading byte order mark is ignored (RFC 8259
 * §8.1).
 */
export function findJson(text: string): unknown {
  try {
    return JSON.parse(text[0] === '\uFEFF' ? text.slice(1) : text)
  } catch {
    return undefined
  }
}

/** Numbers that a double may not hold: only these have 16 digits, or an exponent behind a digit. */
const maybeLong = /\d{16}|\d[eE]/
/** The same where a number can be: ids have such digits, too. */
const maybeLongNumber = /(?:^|[[:,])\s*-?(?:\d{16}|[\d.]+[eE])/

/** Whether a double may not hold one of the numbers in a JSON text. */
export function mayBeLong(text: string): boolean {
  return maybeLong.test(text) && maybeLongNumber.test(text)
}

/**
 * The same, but a number beyond 2^53 is a `JSON.rawJSON`: `JSON.stringify` writes it as it was. Takes longer only where
 * there may be one.
 */
export function findExactJson(text: string): unknown {
  if (!mayBeLong(text)) return findJson(text)
  try {
    return JSON.parse(text[0] === '\uFEFF' ? text.slice(1) : text, (_name, value, { source }) =>
      typeof value === 'number' && source !== undefined && !isExact(value) ? JSON.rawJSON(source) : value,
    )
  } catch {
    return undefined
  }
}

function isExact(value: number): boolean {
  return Number.isSafeInteger(value) || (!Number.isInteger(value) && Number.isFinite(value))
}

/**
 * The same for a provider's response, which is written again: `undefined` also if it is nested too deep for
 * that.
 */
export function findAnswerJson(text: string): unknown {
  return isTooDeep(text) ? undefined : findJson(text)
}

/** The same with the digits of long numbers. */
export function findExactAnswerJson(text: string): unknown {
  return isTooDeep(text) ? undefined : findExactJson(text)
}
