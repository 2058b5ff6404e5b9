import { fieldsOf, itemsOf } from '../../wire/json-fields.ts'
import { budgetMin } from './adapters/anthropic/thinking.ts'
import type { Fields } from './openai-tools.ts'
import type { AnthropicModel } from './quirks.ts'

/**
 * What Anthropic's API cannot have together, and what costs more than the price covers, under OpenAI's names: before its
 * adapter writes the request, so that callers learn of it.
 */
export function applyAnthropicRules(fields: Fields, model: AnthropicModel, dropped: Set<string>): void {
  dropBlankStops(fields, dropped)
  if (hasLongMark(fields)) dropped.add('cache_control')
  const isForced =
    fields.get('tool_choice') === 'required' || fieldsOf(fields.get('tool_choice')) !== undefined
  if (isForced && !model.forcedTools) {
    fields.set('tool_choice', 'auto')
    dropped.add('tool_choice')
  }
  const limit = fields.get('max_tokens')
  const isTooShort = model.thinking === 'budget' && typeof limit === 'number' && limit <= budgetMin
  const isInterrupted = model.thinking === 'budget' && lacksThoughts(itemsOf(fields.get('messages')))
  if (isThinking(fields) && ((isForced && model.forcedTools) || isTooShort || isInterrupted)) {
    fields.delete('reasoning_effort')
    dropped.add('reasoning_effort')
  }
  limitSampling(fields, model.sampling, dropped)
}

/** The default of 1 changes nothing. */
function limitSampling(fields: Fields, taken: AnthropicModel['sampling'], dropped: Set<string>): void {
  const hasBoth = fields.has('temperature') && fields.has('top_p')
  const unwanted = taken === 'none' ? ['temperature', 'top_p'] : taken === 'one' && hasBoth ? ['top_p'] : []
  for (const name of unwanted) {
    if (fields.has(name) && fields.get(name) !== 1) dropped.add(name)
    fields.delete(name)
  }
}

/**
 * Whether the calls that were just answered come without the thinking before them: many clients return what they know of a
 * message only. With a budget the API rejects that.
 */
function lacksThoughts(messages: readonly unknown[]): boolean {
  const last = fieldsOf(messages.findLast((message) => fieldsOf(message)?.role !== 'tool'))
  if (last?.role !== 'assistant' || itemsOf(last.tool_calls).length === 0) return false
  return !itemsOf(last.reasoning_details).some((given) => {
    const detail = fieldsOf(given)
    return detail?.signature !== undefined || detail?.type === 'reasoning.encrypted'
  })
}

function isThinking(fields: Fields): boolean {
  return (fields.get('reasoning_effort') ?? 'none') !== 'none'
}

/** A stop sequence of white space only is a 400. */
function dropBlankStops(fields: Fields, dropped: Set<string>): void {
  const stop = fields.get('stop')
  if (stop === undefined) return
  const given = Array.isArray(stop) ? stop : [stop]
  const kept = given.filter((text) => String(text).trim() !== '')
  if (kept.length === given.length) return
  dropped.add('stop')
  if (kept.length > 0) fields.set('stop', kept)
  else fields.delete('stop')
}

/** A mark that asks for an hour: only a route may. The adapter writes marks without a time. */
function hasLongMark(fields: Fields): boolean {
  const isLong = (value: unknown) => (fieldsOf(fieldsOf(value)?.cache_control)?.ttl ?? '5m') !== '5m'
  const messages = itemsOf(fields.get('messages'))
  return (
    itemsOf(fields.get('tools')).some(isLong) ||
    messages.some((message) => isLong(message) || itemsOf(fieldsOf(message)?.content).some(isLong))
  )
}
