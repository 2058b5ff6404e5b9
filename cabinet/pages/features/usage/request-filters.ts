import type { Answer } from '../../api/calls.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { addDays, isDay } from '../../time/days.ts'
import { usageWords } from './messages.ts'

export type RequestRow = Answer<'GET /requests'>['data'][number]

const names = ['from', 'to', 'key_id', 'model', 'outcome', 'request_id'] as const

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

/** How many of the list's filters are set; both ends of a period count as one. Pure. */
export function countSet({ from, to, key_id, model, outcome }: RequestFilters): number {
  return [from ?? to, key_id, model, outcome].filter((value) => value !== undefined).length
}

const isInstant = (text: string) =>
  /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)) && /Z$|[+-]\d\d:\d\d$/.test(text)

/** The filters of the address as query parameters; invalid ones are left out. `timeZone`: of its days. Pure. */
export function readRequestFilters(
  { from, to, key_id, model, outcome }: RequestFilters,
  words: (typeof usageWords)['ru'],
  timeZone: string,
) {
  const [first, last] = [from, to].map((end) =>
    end !== undefined && (isDay(end) || isInstant(end)) ? end : undefined,
  )
  const query = {
    ...(first !== undefined && { from: first }),
    ...(last !== undefined && { to: isDay(last) ? addDays(last, 1) : last }), // through the end of that day
    ...(key_id !== undefined && isKeyId(key_id) && { key_id }),
    ...(model !== undefined && model.length <= 253 && { model }),
    ...(isOutcome(outcome) && { outcome }),
  }
  const isBackwards = first !== undefined && last !== undefined && endsBefore(first, last, timeZone)
  return { query, errors: isBackwards ? { from: words.periodWrong } : {} } as {
    readonly query: typeof query
    readonly errors: { readonly from?: string }
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

function isOutcome(text: string | undefined): text is RequestRow['outcome'] {
  return text !== undefined && Object.hasOwn(usageWords.ru.outcomes, text)
}
