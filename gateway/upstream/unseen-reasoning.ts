import type { RouteDocument } from '#cabinet/catalogue/catalogue-document'
import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'
import type { Dialect } from './dialect.ts'

/** Models that reason unasked, and show nothing or only a summary of it. Names may have an owner in front. */
const reasoning = new RegExp(
  [
    '(?:^|/)o\\d', // OpenAI's
    '(?:^|/)gpt-(?:[5-9]|oss)(?!-chat)',
    '(?:^|/)gemini-(?:2\\.5|[3-9])',
    '(?:^|/)grok-(?:3-mini|[4-9]|code)',
    '(?:^|/)deepseek-(?:r\\d|v[4-9])',
    'think',
    'reason',
  ].join('|'),
  'i',
)

/** Parameters that ask for reasoning, under the names of all kinds of providers. */
const parameters = [
  'reasoning_effort',
  'reasoning',
  'reasoning_format',
  'include_reasoning',
  'thinking',
  'thinking_budget',
  'enable_thinking',
]

/** Whether an answer may cost tokens of reasoning that are not in it: its model is known for that, or was asked for it. */
export function mayReasonUnseen(
  request: JsonObject,
  dialect: Dialect,
  { model, price }: Pick<RouteDocument, 'model' | 'price'>,
): boolean {
  if (typeof price?.reasoning === 'bigint') return true
  if (reasoning.test(model) || reasoning.test(dialect.model)) return true
  const filledIn = dialect.route.defaults.map(({ name, value }) => [name, value] as const)
  const asked: JsonObject = { ...Object.fromEntries(filledIn), ...request }
  return parameters.some((name) => asksFor(asked[name]))
}

function asksFor(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 'none' || value === 0)
    return false
  const fields = fieldsOf(value)
  return (
    fields === undefined ||
    (fields.type !== 'disabled' && fields.effort !== 'none' && fields.enabled !== false)
  )
}
