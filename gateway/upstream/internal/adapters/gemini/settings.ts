import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { isText } from '../../../../wire/long-text.ts'
import type { GeminiModel } from '../../quirks.ts'
import { reject, type Writing } from './writing.ts'

type Fields = ReadonlyMap<string, unknown>

/** OpenAI's name → its name in `generationConfig`, with the same value. */
const renamed: readonly (readonly [from: string, to: string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['max_tokens', 'maxOutputTokens'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['logprobs', 'responseLogprobs'],
]

/** What OpenAI's parameters are in `generationConfig`. */
export function writeSettings(fields: Fields, model: GeminiModel, writing: Writing): JsonObject {
  const stops = [fields.get('stop')].flat().filter((stop) => isText(stop) && stop.length > 0)
  const [seed, answers] = [fields.get('seed'), Number(fields.get('n') ?? 1)]
  const topLogprobs = Number(fields.get('top_logprobs') ?? 0)
  const thinkingConfig = writeThinking(fields.get('reasoning_effort'), model, writing)
  return {
    ...Object.fromEntries(
      renamed.filter(([from]) => fields.has(from)).map(([from, to]) => [to, fields.get(from)]),
    ),
    ...(answers > 1 ? { candidateCount: answers } : {}),
    ...(stops.length > 0 ? { stopSequences: stops } : {}),
    // An int32 there: a larger seed is cut to its last 32 bits, and still the same for the same.
    ...(typeof seed === 'number' ? { seed: seed | 0 } : {}),
    ...(topLogprobs > 0 && fields.get('logprobs') === true ? { logprobs: topLogprobs } : {}),
    ...writeFormat(fieldsOf(fields.get('response_format')), writing),
    ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
  }
}

function writeFormat(format: JsonObject | undefined, writing: Writing): JsonObject {
  const responseMimeType = 'application/json'
  switch (format?.type ?? 'text') {
    case 'text':
      return {}
    case 'json_object':
      return { responseMimeType }
    case 'json_schema': {
      const responseJsonSchema = fieldsOf(fieldsOf(format?.json_schema)?.schema)
      if (responseJsonSchema !== undefined) return { responseMimeType, responseJsonSchema }
      reject(writing, 'response_format.json_schema.schema', 'must be an object')
      return {}
    }
    default:
      reject(writing, 'response_format.type', 'must be "text", "json_object" or "json_schema"')
      return {}
  }
}

/** Tokens for a level of effort, where a model thinks by a budget: as Google's compatible endpoint translates them. */
const budgets: Readonly<Record<string, number>> = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 }

/** Thoughts are asked for whenever the model may think: clients see what they pay for. */
function writeThinking(effort: unknown, { thinking }: GeminiModel, writing: Writing): JsonObject | undefined {
  if (thinking.kind === 'none') return undefined
  const isOff = thinking.kind === 'budget' && thinking.off
  if (effort === undefined || (effort === 'none' && !isOff))
    return thinking.kind === 'budget' && thinking.unasked === 'off' ? undefined : { includeThoughts: true }
  if (effort === 'none') return { thinkingBudget: 0 }
  const budget = Object.entries(budgets).find(([name]) => name === effort)?.[1]
  if (budget === undefined) {
    reject(writing, 'reasoning_effort', 'must be "none", "minimal", "low", "medium" or "high"')
    return undefined
  }
  if (thinking.kind === 'level') return { thinkingLevel: String(effort).toUpperCase(), includeThoughts: true }
  const { min, max } = thinking
  return { thinkingBudget: Math.min(Math.max(budget, min), max), includeThoughts: true }
}
