/** Reads what a script answered, item by item: a flat array, or a text with a space between items. */
export type ScriptReply = {
  text(): string
  /** A text that may be empty, which stands for `null`. */
  optional(): string | null
  whole(): number
  amount(): bigint
  /** Everything not yet read. */
  rest(): readonly string[]
}

/** @throws TypeError on whatever else than a text, or strings and integers in an array: a bug in a script, not an outage. */
export function readReply(reply: unknown): ScriptReply {
  const answer: unknown = typeof reply === 'string' ? reply.split(' ') : reply
  if (!Array.isArray(answer)) throw new TypeError('a script answered neither text nor array')
  let at = 0
  const text = (): string => {
    const item: unknown = answer[at++]
    if (typeof item !== 'string' && typeof item !== 'number')
      throw new TypeError(`item ${at} of a script's answer is neither text nor number`)
    return String(item)
  }
  return {
    text,
    optional() {
      const value = text()
      return value === '' ? null : value
    },
    whole: () => Number(text()),
    amount: () => BigInt(text()),
    rest: () => Array.from({ length: answer.length - at }, text),
  }
}

/** @throws TypeError where a script answered none of these words: a bug in it. */
export function oneOf<const Word extends string>(answer: unknown, words: readonly Word[]): Word {
  const word = words.find((known) => known === answer)
  if (word === undefined) throw new TypeError(`a script answered none of ${words.join(', ')}`)
  return word
}
