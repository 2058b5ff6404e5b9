import type { ApiProblem } from '../../api/problem.ts'
import type { FieldErrors } from '../../kit/form.tsx'
import { budgetProblem } from '../../money/budget.ts'
import { findTypedRubles, typedRubles } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import type { Key } from './key.ts'
import type { keyWords } from './messages.ts'
import { endOfMoscowDay, moscowDay } from './moscow-day.ts'

type Words = (typeof keyWords)['ru']

/** A key's name and limits as field values. */
export type KeyValues = {
  readonly name: string
  /** Separated by commas or spaces. */
  readonly tags: string
  readonly daily_budget_rub: string
  readonly weekly_budget_rub: string
  readonly monthly_budget_rub: string
  readonly total_budget_rub: string
  readonly rpm: string
  readonly tpm: string
  /** `null`: all. */
  readonly allowed_models: readonly string[] | null
  /** One a line; empty: from anywhere. */
  readonly allowed_ips: string
  /** The last day, in Moscow; empty: no expiry. */
  readonly expires_at: string
  /** Empty: nothing is stored. */
  readonly keeps_responses_hours: string
}

export const noValues: KeyValues = {
  name: '',
  tags: '',
  daily_budget_rub: '',
  weekly_budget_rub: '',
  monthly_budget_rub: '',
  total_budget_rub: '',
  rpm: '',
  tpm: '',
  allowed_models: null,
  allowed_ips: '',
  expires_at: '',
  keeps_responses_hours: '',
}

/** The budgets of a key, the shortest period first. */
export const budgetNames = [
  'daily_budget_rub',
  'weekly_budget_rub',
  'monthly_budget_rub',
  'total_budget_rub',
] as const

type Budget = (typeof budgetNames)[number]

function budgetsOf<Value>(read: (budget: Budget) => Value): Record<Budget, Value> {
  const entries = budgetNames.map((budget) => [budget, read(budget)] as const)
  return Object.fromEntries(entries) as Record<Budget, Value>
}

const nameLengthMax = 253
const countMax = 2_147_483_647
const modelsMax = 256
const tagsMax = 10
const ipsMax = 100
/** What an address or a network may consist of. */
const ipShape = /^[0-9a-f:.]+(?:\/\d{1,3})?$/i
/** Wrong entries named at once. */
const namedMax = 5
/** A tag. */
export const tagShape = /^[a-z0-9][a-z0-9._-]{0,31}$/
/** 30 days. */
const hoursMax = 720

/** The field values of a key. Pure. */
export function valuesOf(key: Key, language: Language): KeyValues {
  return {
    name: key.name,
    tags: key.tags.join(', '),
    ...budgetsOf((budget) => typedRubles(key[budget] ?? '', language)),
    rpm: key.rpm === null ? '' : String(key.rpm),
    tpm: key.tpm === null ? '' : String(key.tpm),
    allowed_models: key.allowed_models,
    allowed_ips: key.allowed_ips?.join('\n') ?? '',
    expires_at: key.expires_at === null ? '' : moscowDay(Date.parse(key.expires_at) - 1),
    keeps_responses_hours: key.keeps_responses_hours === null ? '' : String(key.keeps_responses_hours),
  }
}

/** The typed values. Pure. */
export function typedValues(form: FormData): KeyValues {
  const text = (name: string) => String(form.get(name) ?? '')
  return {
    name: text('name').trim(),
    tags: text('tags'),
    ...budgetsOf((budget) => text(budget).trim()),
    rpm: text('rpm').trim(),
    tpm: text('tpm').trim(),
    allowed_models: form.get('models') === 'chosen' ? form.getAll('allowed_models').map(String) : null,
    allowed_ips: text('allowed_ips').trim(),
    expires_at: text('expires_at'),
    keeps_responses_hours: text('keeps_responses_hours').trim(),
  }
}

/**
 * Errors by field. An expiry that has passed may stay unchanged, and so may a budget finer than kopecks. Pure.
 *
 * @param nowMs by the server's clock.
 */
export function checkValues(
  values: KeyValues,
  words: Words,
  nowMs: number,
  origin: KeyValues = noValues,
): FieldErrors {
  const isSameEnd = values.expires_at === origin.expires_at
  return onlyWrong({
    name: nameError(values.name, words),
    tags: tagsError(typedTags(values.tags), words),
    ...budgetsOf((budget) =>
      values[budget] === origin[budget] ? undefined : budgetError(budget, values[budget], words),
    ),
    rpm: countError(values.rpm, words),
    tpm: countError(values.tpm, words),
    allowed_models: modelsError(values.allowed_models, words),
    allowed_ips: ipsError(typedIps(values.allowed_ips), words),
    expires_at: isSameEnd ? undefined : expiryError(values.expires_at, words, nowMs),
    keeps_responses_hours: hoursError(values.keeps_responses_hours, words),
  })
}

/** Checked values as request fields. Pure. */
export function bodyOf(values: KeyValues) {
  return {
    name: values.name,
    tags: [...typedTags(values.tags)],
    ...budgetsOf((budget) => findTypedRubles(values[budget]) ?? null),
    rpm: findTypedCount(values.rpm) ?? null,
    tpm: findTypedCount(values.tpm) ?? null,
    allowed_models: values.allowed_models === null ? null : [...values.allowed_models],
    allowed_ips: values.allowed_ips === '' ? null : [...typedIps(values.allowed_ips)],
    expires_at: endOfMoscowDay(values.expires_at) ?? null,
    keeps_responses_hours: findTypedCount(values.keeps_responses_hours) ?? null,
  }
}

/** Only the differences between two states of a form. Pure. */
export function changesOf(from: KeyValues, to: KeyValues): Partial<ReturnType<typeof bodyOf>> {
  const changed = changedNames(from, to)
  return Object.fromEntries(Object.entries(bodyOf(to)).filter(([name]) => changed.has(name)))
}

/** Typed values where the user has typed, else the newest. Pure. */
export function mergeValues(origin: KeyValues, typed: KeyValues, newest: KeyValues): KeyValues {
  const changed = changedNames(origin, typed)
  const kept = Object.entries(typed).filter(([name]) => changed.has(name))
  return { ...newest, ...Object.fromEntries(kept) }
}

function changedNames(from: KeyValues, to: KeyValues): ReadonlySet<string> {
  const [before, after] = [bodyOf(from), bodyOf(to)]
  const names = Object.keys(before) as (keyof typeof before)[]
  return new Set(names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])))
}

/** A whole number as users type or paste it: blanks, full-width digits. `undefined`: none. Pure. */
export function findTypedCount(text: string): number | undefined {
  const digits = text.normalize('NFKC').replace(/[\s_]/gu, '')
  if (!/^\d{1,10}$/.test(digits)) return undefined
  const count = Number(digits)
  return count >= 1 && count <= countMax ? count : undefined
}

function nameError(name: string, words: Words): string | undefined {
  if (name === '') return words.nameMissing
  return name.length > nameLengthMax ? words.nameLong : undefined
}

/** In order, each once. */
function typedTags(text: string): readonly string[] {
  const all = text.split(/[\s,;]+/u).filter((tag) => tag !== '')
  return [...new Set(all)].toSorted()
}

function tagsError(tags: readonly string[], words: Words): string | undefined {
  if (tags.length > tagsMax) return words.tagsMany
  return tags.every((tag) => tagShape.test(tag)) ? undefined : words.tagsWrong
}

/** As they are sent: the server drops duplicates and knows what a network is. */
function typedIps(text: string): readonly string[] {
  return text.split(/[\s,;]+/u).filter((ip) => ip !== '')
}

function ipsError(ips: readonly string[], words: Words): string | undefined {
  if (new Set(ips).size > ipsMax) return words.ipsMany
  return wrongIps(
    ips.flatMap((ip, at) => (ipShape.test(ip) ? [] : [at])),
    words,
  )
}

/** Each wrong entry by its place, the first few of them. */
function wrongIps(places: readonly number[], words: Words): string | undefined {
  if (places.length === 0) return undefined
  return words.ipsWrong(
    places
      .slice(0, namedMax)
      .map((at) => at + 1)
      .join(', '),
  )
}

/** Errors of a key's fields that only the server finds. Pure. */
export function keyErrorsOf(
  { code, errors, facts }: Pick<ApiProblem, 'code' | 'errors' | 'facts'>,
  words: Words,
): FieldErrors {
  if (code === 'key_name_taken') return { name: words.nameTaken(String(facts.suggestion)) }
  const places = errors.flatMap(({ path }) => {
    const [, at] = /^allowed_ips\.(\d+)$/.exec(path) ?? []
    return at === undefined ? [] : [Number(at)]
  })
  return onlyWrong({
    ...Object.fromEntries(errors.map(({ path, message }) => [path, message])),
    ...(places.length > 0 && { allowed_ips: wrongIps(places, words) }),
  })
}

function budgetError(budget: Budget, typed: string, words: Words): string | undefined {
  switch (budgetProblem(typed)) {
    case 'decimals':
      return words.budgetDecimals
    case 'wrong':
      return words.budgetWrong
    case 'zero':
      return budget === 'daily_budget_rub' ? undefined : words.budgetZero
    case 'large':
      return words.budgetLarge
    case undefined:
      return undefined
  }
}

function countError(typed: string, words: Words): string | undefined {
  return typed === '' || findTypedCount(typed) !== undefined ? undefined : words.countWrong
}

function hoursError(typed: string, words: Words): string | undefined {
  if (typed === '') return undefined
  const hours = findTypedCount(typed)
  return hours === undefined || hours > hoursMax ? words.keepsHoursWrong : undefined
}

function modelsError(models: KeyValues['allowed_models'], words: Words): string | undefined {
  if (models === null) return undefined
  if (models.length === 0) return words.modelsMissing
  return models.length > modelsMax ? words.modelsMany : undefined
}

function expiryError(day: string, words: Words, nowMs: number): string | undefined {
  if (day === '') return undefined
  const end = endOfMoscowDay(day)
  if (end === undefined) return words.expiresWrong
  return Date.parse(end) <= nowMs ? words.expiresPast : undefined
}

function onlyWrong(errors: FieldErrors): FieldErrors {
  return Object.fromEntries(Object.entries(errors).filter(([, error]) => error !== undefined))
}
