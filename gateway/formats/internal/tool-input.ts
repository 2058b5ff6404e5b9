import { fieldsOf, findJson } from '../../wire/json-fields.ts'

/** Reads the input of a custom tool from the arguments of the function that takes its place, while they grow. */
export type ToolInput = {
  /** The text that the next piece of the arguments adds to the input. */
  push(piece: string): string
  /** The rest of the text, once the arguments are whole. */
  end(): string
}

/** What models write before the text, with white space anywhere. */
const head = /^\s*\{\s*"input"\s*:\s*"/
const headWithoutSpace = '{"input":"'
const special = /["\\]/g

/**
 * Arguments that are `{"input":"…"}` are returned as they come. Others are returned at the end: the text that they
 * must mean, or themselves.
 */
export function createToolInput(): ToolInput {
  return new GrowingInput()
}

class GrowingInput implements ToolInput {
  #state: 'before' | 'within' | 'after' | 'other' = 'before'
  /** Not decoded yet: half an escape, or everything where the text did not begin. */
  #rest = ''
  /** The first half of a character that needs two units. */
  #half = ''

  push(piece: string): string {
    if (this.#state === 'after') return ''
    this.#rest += piece
    if (this.#state === 'before') this.#begin()
    return this.#state === 'within' ? this.#wholeCharacters(this.#decode()) : ''
  }

  end(): string {
    if (this.#state !== 'within' && this.#state !== 'after') return meantBy(this.#rest)
    const half = this.#half
    this.#half = ''
    return half
  }

  #begin(): void {
    const found = head.exec(this.#rest)
    if (found !== null) {
      this.#state = 'within'
      this.#rest = this.#rest.slice(found[0].length)
    } else if (!headWithoutSpace.startsWith(this.#rest.replace(/\s+/g, ''))) this.#state = 'other'
  }

  #decode(): string {
    const rest = this.#rest
    let decoded = ''
    let at = 0
    while (this.#state === 'within') {
      special.lastIndex = at
      const next = special.exec(rest)?.index ?? rest.length
      decoded += rest.slice(at, next)
      at = next
      if (rest[at] === '"') this.#state = 'after'
      const length = rest[at + 1] === 'u' ? 6 : 2
      if (rest[at] !== '\\' || at + length > rest.length) break
      decoded += decodeEscape(rest.slice(at, at + length))
      at += length
    }
    this.#rest = rest.slice(at)
    return decoded
  }

  /** Some clients decode each piece for itself, so none ends within a character. */
  #wholeCharacters(decoded: string): string {
    const text = this.#half + decoded
    this.#half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? ''
    return text.slice(0, text.length - this.#half.length)
  }
}

function decodeEscape(written: string): string {
  const decoded = findJson(`"${written}"`)
  return typeof decoded === 'string' ? decoded : written
}

/** Some models name the text differently, add other fields, or write it without JSON around it. */
function meantBy(text: string): string {
  const value = findJson(text)
  if (typeof value === 'string') return value
  const fields = fieldsOf(value)
  if (fields === undefined) return text
  if (typeof fields.input === 'string') return fields.input
  const [only, ...others] = Object.values(fields)
  return typeof only === 'string' && others.length === 0 ? only : text
}
