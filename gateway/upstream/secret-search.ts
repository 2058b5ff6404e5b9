import { fieldsOf } from '../wire/json-fields.ts'

/** In the place of a secret. */
export const hiddenMark = '[hidden]'

/**
 * Shortest credential to search for in a model's output. Servers without authentication are given `none`,
 * `EMPTY` or `x`, and their output may contain these.
 */
const secretLengthMin = 8

/** Finds a provider's own credential in its answers: the exact text, not what looks like one. */
export type SecretSearch = {
  /** The first at `from` or behind it. */
  find(text: string, from: number): { readonly start: number; readonly end: number } | undefined
  /** How much of the end of `text`, from `from` on, is the beginning of one that may go on. */
  openLength(text: string, from: number): number
  /** Neither in it, nor beginning at its end. */
  isClear(text: string): boolean
  /** The text with `[hidden]` in the place of each. */
  hide(text: string): string
  /** A value with the same done to all of its texts and names. */
  hidden(value: unknown): unknown
  /** The same as JSON. */
  write(value: unknown): string
  /** None is in this JSON text. `false` also if that is not sure, since it may be escaped in many ways. */
  isAbsentFrom(json: string): boolean
}

/** By the list of a provider's secrets, which stays the same object for as long as its document does. */
const searches = new WeakMap<readonly string[], { readonly search: SecretSearch | undefined }>()

/** The search for these secrets; `undefined` if none is long enough. */
export function searchFor(secrets: readonly string[]): SecretSearch | undefined {
  const known = searches.get(secrets)
  if (known !== undefined) return known.search
  const forms = formsOf(secrets)
  const search = forms.length === 0 ? undefined : createSearch(forms)
  searches.set(secrets, { search })
  return search
}

/**
 * Each as it is and as JSON has it, since arguments of tools are JSON in a text. One that contains another goes with that, so
 * that it never matters which of two is found first.
 */
function formsOf(secrets: readonly string[]): readonly string[] {
  const long = secrets.filter(({ length }) => length >= secretLengthMin)
  const forms = [...new Set(long.flatMap((secret) => [secret, jsonInsideOf(secret)]))]
  return forms.filter((form) => !forms.some((other) => other !== form && form.includes(other)))
}

function jsonInsideOf(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function createSearch(forms: readonly string[]): SecretSearch {
  const written = forms.map(jsonInsideOf)

  function find(text: string, from: number) {
    let found: { start: number; end: number } | undefined
    for (const form of forms) {
      const start = text.indexOf(form, from)
      if (start !== -1 && (found === undefined || start < found.start))
        found = { start, end: start + form.length }
    }
    return found
  }

  function openLength(text: string, from: number): number {
    let longest = 0
    for (const form of forms) {
      const first = form.charAt(0)
      let start = text.indexOf(first, Math.max(from, text.length - form.length + 1))
      while (start !== -1 && !form.startsWith(text.slice(start))) start = text.indexOf(first, start + 1)
      if (start !== -1) longest = Math.max(longest, text.length - start)
    }
    return longest
  }

  function hide(text: string): string {
    let shown = ''
    let at = 0
    for (let found = find(text, 0); found !== undefined; found = find(text, at)) {
      shown += text.slice(at, found.start) + hiddenMark
      at = found.end
    }
    return shown + text.slice(at)
  }

  const hidden = (value: unknown) => mapTexts(value, { text: hide, name: hide })

  return {
    find,
    openLength,
    hide,
    hidden,
    isAbsentFrom: (json) =>
      !written.some((form) => json.includes(form)) && !json.includes('\\u') && !json.includes('\\/'),
    isClear: (text) =>
      !forms.some((form) => form.length <= text.length && text.includes(form)) && openLength(text, 0) === 0,
    write(value) {
      const json = JSON.stringify(value)
      return written.some((form) => json.includes(form)) ? JSON.stringify(hidden(value)) : json
    },
  }
}

/** Replacements for the texts and the names in a JSON value. */
type Showing = {
  /** `place`: the names around it; an item of a list has its `index` if there is one. */
  readonly text: (text: string, place: string) => string
  readonly name: (name: string) => string
}

/** A copy of a JSON value with the texts that `showing` returns. */
export function mapTexts(value: unknown, showing: Showing, place = ''): unknown {
  if (typeof value === 'string') return showing.text(value, place)
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value
  if (Array.isArray(value))
    return value.map((item, at) => mapTexts(item, showing, `${place}.${fieldsOf(item)?.index ?? at}`))
  const fields = Object.entries(value).map(([name, inner]) => [
    showing.name(name),
    mapTexts(inner, showing, place === '' ? name : `${place}.${name}`),
  ])
  return Object.fromEntries(fields)
}
