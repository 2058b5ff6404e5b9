import type { Answer } from '../../api/calls.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { compareRubles, findTypedRubles } from '../../money/rubles.ts'
import { addDays, isDay } from '../../time/days.ts'
import { usageWords } from './messages.ts'

export type ActivityRow = Answer<'GET /activity'>['data'][number]
type Outcome = NonNullable<ActivityRow['outcome']>

/** Filters by a text or an amount that the user types. */
const typedNames = [
  'model',
  'model_contains',
  'provider',
  'tag',
  'status',
  'error_code',
  'cost_from',
  'cost_to',
  'id_contains',
] as const
const names = ['from', 'to', 'key_id', 'type', 'outcome', ...typedNames, 'request_id'] as const

export type RequestFilters = { readonly [Name in (typeof names)[number]]?: string }

export function useRequestAddress() {
  return useAddressFilters(names)
}

/** Whether a key can have this id. */
export const isKeyId = (text: string) => idShape.test(text)

/** The request id in a text, which may be the id of a response: `chatcmpl-…`, `resp_…`, `msg_…`. Pure. */
export const requestIdIn = (text: string) =>
  text
    .trim()
    .toLowerCase()
    .replace(/^(?:chatcmpl-|resp_|msg_)/, '')

/** Whether a text can be a request id. Pure. */
export const isRequestId = (text: string) => idShape.test(text)

const idShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether the address contains a span of instants, as for an hourly bar: a day cannot express that. */
export function isExactSpan({ from, to }: RequestFilters): boolean {
  return [from, to].some((end) => end !== undefined && !isDay(end) && isInstant(end))
}

/** How many of the list's filters are set; both ends of a period or a cost count as one. Pure. */
export function countSet({ from, to, cost_from, cost_to, ...filters }: RequestFilters): number {
  const { request_id: _, ...others } = filters
  return [from ?? to, cost_from ?? cost_to, ...Object.values(others)].filter((value) => value !== undefined)
    .length
}

/** Removes every filter of the list. */
export const noFilters = Object.fromEntries(names.map((name) => [name, undefined])) as {
  readonly [Name in (typeof names)[number]]: undefined
}

const isInstant = (text: string) =>
  /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)) && /Z$|[+-]\d\d:\d\d$/.test(text)

type TypedName = (typeof typedNames)[number]
export type FilterErrors = { readonly [Name in 'from' | TypedName]?: string }

/** The filters of the address as query parameters; invalid ones are left out or have an error. `timeZone`: of its days. Pure. */
export function readRequestFilters(
  { from, to, key_id, type, outcome, ...filters }: RequestFilters,
  words: (typeof usageWords)['ru'],
  timeZone: string,
) {
  const [first, last] = [from, to].map((end) =>
    end !== undefined && (isDay(end) || isInstant(end)) ? end : undefined,
  )
  const typed = Object.fromEntries(
    typedNames.flatMap((name) =>
      filters[name] === undefined ? [] : [[name, typedValue(name, filters[name])]],
    ),
  ) as { readonly [Name in TypedName]?: string }
  const query = {
    ...(first !== undefined && { from: first }),
    ...(last !== undefined && { to: isDay(last) ? addDays(last, 1) : last }), // through the end of that day
    ...(key_id !== undefined && isKeyId(key_id) && { key_id }),
    ...(isType(type) && { type }),
    ...(isOutcome(outcome) && { outcome }),
    ...typed,
  }
  const isBackwards = first !== undefined && last !== undefined && endsBefore(first, last, timeZone)
  const typedErrors: FilterErrors = Object.fromEntries(
    Object.entries(typed).flatMap(([name, value]) => {
      const error = errorOf(name as TypedName, value, words)
      return error === undefined ? [] : [[name, error]]
    }),
  )
  const errors: FilterErrors = {
    ...(isAbove(typed, typedErrors) && { cost_to: words.costBackwards }),
    ...typedErrors,
    ...(isBackwards && { from: words.periodWrong }),
  }
  return { query, errors }
}

/** Whether the lowest cost is above the highest; both are amounts. */
function isAbove({ cost_from, cost_to }: RequestFilters, errors: FilterErrors): boolean {
  const areAmounts = errors.cost_from === undefined && errors.cost_to === undefined
  return (
    areAmounts && cost_from !== undefined && cost_to !== undefined && compareRubles(cost_from, cost_to) > 0
  )
}

/** Amounts are typed as users write them, and classes of statuses in any case, with a Latin or a Cyrillic x. */
function typedValue(name: TypedName, text: string): string {
  if (name === 'status') return text.toLowerCase().replaceAll('х', 'x')
  return name === 'cost_from' || name === 'cost_to' ? (findTypedRubles(text) ?? text) : text
}

const textLengthMax = 253
const idLengthMax = 64

function errorOf(name: TypedName, text: string, words: (typeof usageWords)['ru']): string | undefined {
  switch (name) {
    case 'tag':
      return /^(?:-|[a-z0-9][a-z0-9._-]{0,31})$/.test(text) ? undefined : words.tagWrong
    case 'status':
      return /^(?:[1-5](?:\d\d|xx)|error)$/.test(text) ? undefined : words.statusWrong
    case 'cost_from':
    case 'cost_to':
      return /^\d{1,8}(?:\.\d{1,9})?$/.test(text) ? undefined : words.costWrong
    case 'id_contains':
      return text.length > idLengthMax ? words.tooLong(idLengthMax) : undefined
    default:
      return text.length > textLengthMax ? words.tooLong(textLengthMax) : undefined
  }
}

/** Whether a period ends before it begins; each end is an instant or a day, including the last day. */
function endsBefore(from: string, to: string, timeZone: string): boolean {
  if (isDay(to)) return startOn(from, timeZone) >= startOn(addDays(to, 1), timeZone)
  if (isDay(from)) return startOn(from, timeZone) > startOn(to, timeZone)
  return Date.parse(from) > Date.parse(to)
}

/** An instant as local time of a zone, so that instants and beginnings of days sort as texts. */
function startOn(end: string, timeZone: string): string {
  if (isDay(end)) return `${end} 00:00:00`
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(
    new Date(end),
  )
}

function isOutcome(text: string | undefined): text is Outcome {
  return text !== undefined && Object.hasOwn(usageWords.ru.outcomes, text)
}

function isType(text: string | undefined): text is ActivityRow['type'] {
  return text === 'request' || text === 'rejection'
}
