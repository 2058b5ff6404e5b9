import type { Language } from '../preferences.ts'

/**
 * Sums are decimal texts of rubles with at most 9 decimal places, as the server writes them. They never become a
 * `number`: code adds and compares whole nano-rubles, and `Intl` formats the text itself.
 */
const nanoDigits = 9
const shape = /^(-?)(\d+)(?:\.(\d{1,9}))?$/

/** A sum as nano-rubles. @throws Error if the text is not a sum; our servers never send one. */
export function nanoOf(rubles: string): bigint {
  const [, sign = '', whole, fraction = ''] = shape.exec(rubles) ?? []
  if (whole === undefined) throw new Error('not a sum of rubles')
  const nano = BigInt(whole + fraction.padEnd(nanoDigits, '0'))
  return sign === '-' ? -nano : nano
}

/** Nano-rubles as a sum. */
export function rublesOf(nano: bigint): string {
  const digits = String(nano < 0n ? -nano : nano).padStart(nanoDigits + 1, '0')
  const fraction = digits.slice(-nanoDigits).replace(/0+$/, '')
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -nanoDigits)}${fraction === '' ? '' : `.${fraction}`}`
}

export function addRubles(...sums: readonly string[]): string {
  return rublesOf(sums.reduce((total, sum) => total + nanoOf(sum), 0n))
}

/** Below 0, 0 or above 0, as for sorting. */
export function compareRubles(a: string, b: string): number {
  const difference = nanoOf(a) - nanoOf(b)
  return difference === 0n ? 0 : difference < 0n ? -1 : 1
}

/** A sum's share of a whole, from 0 to 1, for a bar: a length on the screen, not money. */
export function shareOf(part: string, whole: string): number {
  const all = nanoOf(whole)
  if (all <= 0n) return 0
  return Math.min(1, Math.max(0, Number((nanoOf(part) * 10_000n) / all) / 10_000))
}

const formatOf = (
  language: Language,
  digitsMin: number,
  digitsMax: number,
  roundingMode: 'floor' | 'halfExpand' = 'floor',
) =>
  new Intl.NumberFormat(language === 'ru' ? 'ru-RU' : 'en', {
    style: 'currency',
    currency: 'RUB',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: digitsMin,
    maximumFractionDigits: digitsMax,
    roundingMode,
  })

const kopeckDigits = 2

/** One formatter per number of padded digits: creating one takes longer than using it. */
const exactFormats = (language: Language) =>
  Array.from({ length: nanoDigits + 1 }, (_, digits) =>
    formatOf(language, Math.max(kopeckDigits, digits), nanoDigits),
  )

const formatsOf = (language: Language) => ({
  kopecks: formatOf(language, kopeckDigits, kopeckDigits),
  spent: formatOf(language, kopeckDigits, kopeckDigits, 'halfExpand'),
  exact: exactFormats(language),
})

const formats = { ru: formatsOf('ru'), en: formatsOf('en') }

/** Positive sums below these nano-rubles would be shown as zero. */
const leastShown = { kopecks: 10_000_000n, spent: 5_000_000n } as const

/**
 * A sum for display. `kopecks`: rounded down, so that it never exceeds what there is. `spent`: rounded half up. Neither
 * shows an amount as zero: one that small is `< 0,01 ₽`. `exact`: every digit. A number: every digit, and at least that
 * many, so that the points of a column align. Pure.
 */
export function formatRoubles(
  rubles: string,
  language: Language,
  digits: 'kopecks' | 'spent' | 'exact' | number = 'kopecks',
): string {
  const { kopecks, spent, exact } = formats[language]
  const sum = rubles as `${number}`
  if (digits === 'exact') return exact[0]?.format(sum) ?? ''
  if (typeof digits === 'number') return (exact[digits] ?? kopecks).format(sum)
  const nano = nanoOf(rubles)
  if (nano > 0n && nano < leastShown[digits]) return `< ${kopecks.format('0.01')}`
  return (digits === 'spent' ? spent : kopecks).format(sum)
}

/** The largest number of decimal places among these sums. Pure. */
export function digitsOf(sums: readonly string[]): number {
  return Math.max(kopeckDigits, ...sums.map((sum) => sum.split('.')[1]?.length ?? 0))
}

/**
 * An amount as users type or paste it: blanks, a comma, full-width digits, a ruble sign. `undefined`: not an amount.
 * `150,000` is rejected too: it can mean 150 rubles or 150 thousand. Pure.
 */
export function findTypedRubles(text: string): string | undefined {
  const { whole, mark, fraction } = findTypedParts(text) ?? {}
  const isAmbiguous = mark === ',' && fraction?.length === 3 && whole !== '0'
  if (whole === undefined || isAmbiguous) return undefined
  const cut = fraction?.replace(/0+$/, '') ?? ''
  return cut === '' ? whole : `${whole}.${cut}`
}

/** Whether more than two decimal places were typed, zeros too: `150.000` means 150 thousand as often as 150. Pure. */
export function isFinerThanKopecks(text: string): boolean {
  return (findTypedParts(text)?.fraction.length ?? 0) > kopeckDigits
}

/** The initial text of a field; `findTypedRubles` reads it as the same sum. Pure. */
export function typedRubles(rubles: string, language: Language): string {
  if (language === 'en') return rubles
  const [whole, fraction] = rubles.split('.')
  if (fraction === undefined) return rubles
  return `${whole},${fraction.length === 3 ? `${fraction}0` : fraction}`
}

function findTypedParts(text: string) {
  const plain = text.normalize('NFKC').replace(/[\s\u00a0_]|₽|руб\.?|rub/giu, '')
  const [, whole, mark = '', fraction = ''] = /^0*(\d{1,10})(?:([.,])(\d{0,9}))?$/.exec(plain) ?? []
  return whole === undefined ? undefined : { whole, mark, fraction }
}
