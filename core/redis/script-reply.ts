/** Reads a script's reply item by item: a flat array, or a text with items separated by spaces. */
export type ScriptReply = {
  text(): string
  /** A text that may be empty, which stands for `null`. */
  optional(): string | null
  whole(): number
  amount(): bigint
  /** Everything not yet read. */
  rest(): readonly string[]
}

/** @throws TypeError on anything but a text, or an array of strings and integers: a bug in a script, not an outage. */
export function readReply(reply: unknown): ScriptReply {
  const answer: unknown = typeof reply === 'string' ? reply.split(' ') : reply
  if (!Array.isArray(answer)) throw new TypeError('a script returned neither text nor an array')
  let at = 0
  const text = (): string => {
    const item: unknown = answer[at++]
    if (typeof item !== 'string' && typeof item !== 'number')
      throw new TypeError(`item ${at} of a script's reply is neither text nor a number`)
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

/** @throws TypeError when a script returned none of these words: a bug in it. */
export function oneOf<const Word extends string>(answer: unknown, words: readonly Word[]): Word {
  const word = words.find((known) => known === answer)
  if (word === undefined) throw new TypeError(`a script returned none of ${words.join(', ')}`)
  return word
}
