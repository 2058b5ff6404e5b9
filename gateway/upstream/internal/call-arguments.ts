import type { JsonObject } from '../../wire/json-fields.ts'
import { findObjectInSteps } from '../../wire/json-in-steps.ts'
import { isText } from '../../wire/long-text.ts'

/** Longest arguments of a call that are taken, in UTF-16 units: twice as many as a model writes in one response. */
const argumentsLengthMax = 1024 * 1024

/** The object that the arguments of a call in a conversation are, or what they must be. Without arguments it is empty. */
export function* readArguments(given: unknown): Generator<undefined, JsonObject | string> {
  if (!isText(given) || given.length === 0) return {}
  if (given.length > argumentsLengthMax) return `must have at most ${argumentsLengthMax} characters`
  return (yield* findObjectInSteps(String(given))) ?? 'must be the text of a JSON object'
}
