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

const formatOf = (language: Language, maximumFractionDigits: number) =>
  new Intl.NumberFormat(language === 'ru' ? 'ru-RU' : 'en', {
    ...{ style: 'currency', currency: 'RUB', currencyDisplay: 'narrowSymbol' },
    ...{ minimumFractionDigits: 2, maximumFractionDigits, roundingMode: 'floor' },
  })

const formats = {
  ru: { kopecks: formatOf('ru', 2), exact: formatOf('ru', nanoDigits) },
  en: { kopecks: formatOf('en', 2), exact: formatOf('en', nanoDigits) },
} as const

/** For people: kopecks, rounded down, so that nobody is shown more than there is; or every digit. Pure. */
export function formatRoubles(
  roubles: string,
  language: Language,
  digits: 'kopecks' | 'exact' = 'kopecks',
): string {
  return formats[language][digits].format(roubles as `${number}`)
}

/** An amount as people type or paste it: blanks, a comma, full-width digits, a rouble sign. `undefined`: none. Pure. */
export function findTypedRoubles(text: string): string | undefined {
  const plain = text
    .normalize('NFKC')
    .replace(/[\s\u00a0_]|₽|руб\.?|rub/giu, '')
    .replace(',', '.')
  const [, whole, fraction = ''] = /^0*(\d{1,10})(?:\.(\d{0,9}))?$/.exec(plain) ?? []
  if (whole === undefined) return undefined
  const cut = fraction.replace(/0+$/, '')
  return cut === '' ? whole : `${whole}.${cut}`
}
