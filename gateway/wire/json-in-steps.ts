import { fieldsOf, findExactAnswerJson, type JsonObject, mayBeLong } from './json-fields.ts'
import { JsonSteps } from './json-steps.ts'
import { jsonDepthMax } from './json-text.ts'
import { stepMs } from './turns.ts'

/** Lengths, in UTF-16 units, of a text that takes at most 2 ms in one piece: `JSON.parse` takes 1 µs for each value where there may be a long number. */
const atOnceLengths = { withLongNumbers: 4096, others: 128 * 1024 }
/** Those of the values in a text are bounded by its length. */
const limits = {
  depthMax: jsonDepthMax,
  partsMax: Number.POSITIVE_INFINITY,
  numbersMax: Number.POSITIVE_INFINITY,
}

/**
 * The object that a text in a request is, as `findExactJson` reads it, in steps of a millisecond or two; `undefined` if it
 * is none, or nested too deep to be written again.
 */
export function* findObjectInSteps(text: string): Generator<undefined, JsonObject | undefined> {
  const isLong = text.length > atOnceLengths.withLongNumbers
  if (!isLong || (text.length <= atOnceLengths.others && !mayBeLong(text)))
    return fieldsOf(findExactAnswerJson(text))
  const steps = new JsonSteps(Buffer.from(text), limits)
  for (;;) {
    const found = steps.step(stepMs)
    if (found?.kind === 'value') return fieldsOf(found.value)
    if (found !== undefined) return undefined
    yield
  }
}
