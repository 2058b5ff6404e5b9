import type { Language } from '../preferences.ts'

/**
 * Sums are decimal texts of roubles with at most 9 digits behind the point, as the server writes them. They never
 * become a `number`: whole nano-roubles are added and compared, and `Intl` formats the text itself.
 */
const nanoDigits = 9
const shape = /^(-?)(\d+)(?:\.(\d{1,9}))?$/

/** How many nano-roubles a sum is. @throws Error for what is no sum, which no server of ours writes. */
export function nanoOf(roubles: string): bigint {
  const [, sign = '', whole, fraction = ''] = shape.exec(roubles) ?? []
  if (whole === undefined) throw new Error('not a sum of roubles')
  const nano = BigInt(whole + fraction.padEnd(nanoDigits, '0'))
  return sign === '-' ? -nano : nano
}

/** The sum that so many nano-roubles are. */
export function roublesOf(nano: bigint): string {
  const digits = String(nano < 0n ? -nano : nano).padStart(nanoDigits + 1, '0')
  const fraction = digits.slice(-nanoDigits).replace(/0+$/, '')
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -nanoDigits)}${fraction === '' ? '' : `.${fraction}`}`
}

export function addRoubles(...sums: readonly string[]): string {
  return roublesOf(sums.reduce((total, sum) => total + nanoOf(sum), 0n))
}

/** Below 0, 0 or above 0, as for sorting. */
export function compareRoubles(a: string, b: string): number {
  const difference = nanoOf(a) - nanoOf(b)
  return difference === 0n ? 0 : difference < 0n ? -1 : 1
}

/** How much of a whole a sum is, from 0 to 1, for a bar: a length on a screen, no money. */
export function shareOf(part: string, whole: string): number {
  const all = nanoOf(whole)
  if (all <= 0n) return 0
  return Math.min(1, Math.max(0, Number((nanoOf(part) * 10_000n) / all) / 10_000))
}

const formatOf = (language: Language, digitsMin: number, digitsMax: number) =>
  new Intl.NumberFormat(language === 'ru' ? 'ru-RU' : 'en', {
    ...{ style: 'currency', currency: 'RUB', currencyDisplay: 'narrowSymbol' },
    ...{ minimumFractionDigits: digitsMin, maximumFractionDigits: digitsMax, roundingMode: 'floor' },
  })

const kopeckDigits = 2

/** One for each count of digits that is padded to; making one takes longer than using it. */
const exactFormats = (language: Language) =>
  Array.from({ length: nanoDigits + 1 }, (_, digits) =>
    formatOf(language, Math.max(kopeckDigits, digits), nanoDigits),
  )

const formats = {
  ru: { kopecks: formatOf('ru', kopeckDigits, kopeckDigits), exact: exactFormats('ru') },
  en: { kopecks: formatOf('en', kopeckDigits, kopeckDigits), exact: exactFormats('en') },
} as const

/**
 * For people: kopecks, rounded down, so that nobody is shown more than there is; or every digit, and with a number at least
 * so many, so that the points of a column stand below each other. Pure.
 */
export function formatRoubles(
  roubles: string,
  language: Language,
  digits: 'kopecks' | 'exact' | number = 'kopecks',
): string {
  const { kopecks, exact } = formats[language]
  const format = digits === 'kopecks' ? kopecks : (exact[digits === 'exact' ? 0 : digits] ?? kopecks)
  return format.format(roubles as `${number}`)
}

/** As many digits as the finest of these sums has behind its point. Pure. */
export function digitsOf(sums: readonly string[]): number {
  return Math.max(kopeckDigits, ...sums.map((sum) => sum.split('.')[1]?.length ?? 0))
}

/**
 * An amount as people type or paste it: blanks, a comma, full-width digits, a rouble sign. `undefined`: none. `150,000` is none
 * either: it is 150 roubles to some and 150 thousand to others. Pure.
 */
export function findTypedRoubles(text: string): string | undefined {
  const { whole, mark, fraction } = findTypedParts(text) ?? {}
  const isAmbiguous = mark === ',' && fraction?.length === 3 && whole !== '0'
  if (whole === undefined || isAmbiguous) return undefined
  const cut = fraction?.replace(/0+$/, '') ?? ''
  return cut === '' ? whole : `${whole}.${cut}`
}

/**
 * Whether more than kopecks was typed behind the point or comma, zeros too: whoever types `150.000` means 150 thousand as
 * often as 150. Pure.
 */
export function isFinerThanKopecks(text: string): boolean {
  return (findTypedParts(text)?.fraction.length ?? 0) > kopeckDigits
}

/** A sum as it stands in a field at first, for `findTypedRoubles` to read the same again. Pure. */
export function typedRoubles(roubles: string, language: Language): string {
  if (language === 'en') return roubles
  const [whole, fraction] = roubles.split('.')
  if (fraction === undefined) return roubles
  return `${whole},${fraction.length === 3 ? `${fraction}0` : fraction}`
}

function findTypedParts(text: string) {
  const plain = text.normalize('NFKC').replace(/[\s\u00a0_]|₽|руб\.?|rub/giu, '')
  const [, whole, mark = '', fraction = ''] = /^0*(\d{1,10})(?:([.,])(\d{0,9}))?$/.exec(plain) ?? []
  return whole === undefined ? undefined : { whole, mark, fraction }
}
