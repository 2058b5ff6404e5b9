import type { DeltaRepeat, DeltaValues } from '../../formats/api-format.ts'
import { isDigit } from '../../wire/json-text.ts'

/**
 * What is around the values of a delta's frame that change from delta to delta.
 *
 * A frame that differs only in them has the same meaning but for its text: it need not be parsed.
 */
export type EventPattern = {
  readonly between: readonly string[]
  /** In their order in the frame. */
  readonly kinds: readonly Kind[]
}

type Kind = 'text' | 'number' | 'padding'
/** The names of the values. */
type Names = { readonly text: string } & Pick<DeltaRepeat, 'number' | 'padding'>

/** Strings that JSON writes unchanged: no quote, no backslash, no control character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const asItIs = /^[^"\\\u0000-\u001f]*$/

/** The pattern of the frame of a delta with this text; `undefined`: it is ambiguous which values are meant. */
export function findPattern(frame: string, text: string, names: Names): EventPattern | undefined {
  const pattern = patternOf(frame, names)
  return pattern && valuesIn(frame, pattern)?.text === text ? pattern : undefined
}

function patternOf(frame: string, names: Names): EventPattern | undefined {
  const places = (['text', 'number', 'padding'] as const)
    .map((kind) => ({ kind, start: startOf(kind, frame, names) }))
    .filter(({ kind, start }) => kind === 'text' || start !== -1)
    .toSorted((a, b) => a.start - b.start)
  const ends = places.map(({ kind, start }) => endOf(kind, frame, start))
  if (frame.includes('\\') || places[0]?.start === -1 || ends.includes(-1)) return undefined
  return {
    between: [0, ...ends].map((end, position) => frame.slice(end, places[position]?.start)),
    kinds: places.map(({ kind }) => kind),
  }
}

/** Where a value begins that is named once; -1: there is none. */
function startOf(kind: Kind, frame: string, names: Names): number {
  const before = `"${names[kind]}":${kind === 'number' ? '' : '"'}`
  const at = frame.indexOf(before)
  return at === -1 || at !== frame.lastIndexOf(before) ? -1 : at + before.length
}

/** The values of a frame that matches the pattern, or `undefined` if it does not. */
export function valuesIn(frame: string, { between, kinds }: EventPattern): DeltaValues | undefined {
  let text = ''
  let numberAt = -1
  let numberEnd = -1
  let at = 0
  for (let position = 0; position < kinds.length; position += 1) {
    const kind = kinds[position] ?? 'text'
    const part = between[position] ?? ''
    const start = at + part.length
    if (frame.slice(at, start) !== part) return undefined
    at = endOf(kind, frame, start)
    if (at === -1) return undefined
    if (kind === 'number') {
      numberAt = start
      numberEnd = at
    } else {
      const value = frame.slice(start, at)
      if (!asItIs.test(value)) return undefined
      if (kind === 'text') text = value
    }
  }
  if (text === '' || frame.slice(at) !== between[kinds.length]) return undefined
  return { text, numberAt, numberEnd }
}

/** Where a value ends that begins at `start`; -1: it is no text without escapes, or no whole number. */
function endOf(kind: Kind, frame: string, start: number): number {
  if (kind !== 'number') return frame.indexOf('"', start)
  let end = start
  while (isDigit(frame.charCodeAt(end))) end += 1
  return end > start && (frame[end] === ',' || frame[end] === '}') ? end : -1
}
