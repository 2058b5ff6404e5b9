import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

type Said = {
  readonly path: string
  readonly kind: string
  readonly texts: readonly string[]
  /** Of a function: its texts for 1, 2, 5 and 21, for each argument that may be a count. */
  readonly counts: readonly (readonly string[])[]
}

/** Latin words allowed in Russian texts: names, and terms without a Russian form. */
const latin = new Set(
  `Model Gateway API SDK ID URL CSV HTTPS IP JSON QR TOTP curl Python Node js JavaScript TypeScript OpenAI kubectl Kubernetes Markdown
   ApiKey English NAMESPACE Secure Money Enter Shift Standard Webhooks Telegram`.split(/\s+/),
)

/** Spelled the same in every language. */
const quoted = ['name@example.ru', 'base_url', 'x-gateway-request-id', '5xx']

const pages = join(import.meta.dirname, '..')
const groups = globSync('**/*messages.ru.ts', { cwd: pages }).map((name) => name.replace('.ru.ts', ''))

async function read(group: string, language: 'ru' | 'en'): Promise<readonly Said[]> {
  const module = (await import(join(pages, `${group}.${language}.ts`))) as Readonly<Record<string, unknown>>
  return flatten(module[language], group.split('/').at(-2) ?? '')
}

function flatten(value: unknown, path: string): readonly Said[] {
  if (typeof value === 'string') return [{ path, kind: 'text', texts: [value], counts: [] }]
  if (typeof value === 'function') {
    const write = value as Write
    const counts = Array.from({ length: write.length }, (_, place) =>
      [1, 2, 5, 21].flatMap((count) => textOf(write, (at) => (at === place ? count : name))),
    )
    return [
      { path, kind: `of ${write.length}`, texts: [...counts.flat(), ...textOf(write, () => name)], counts },
    ]
  }
  return Object.entries(value as object).flatMap(([key, part]) => flatten(part, `${path}.${key}`))
}

type Write = (...given: never[]) => unknown

/** The value of all other arguments: plural forms accept it as a number, and names are texts. */
const name = '7'

/** Empty if the function takes another type. */
function textOf(write: Write, givenAt: (place: number) => number | string): readonly string[] {
  try {
    const text = write(...(Array.from({ length: write.length }, (_, place) => givenAt(place)) as never[]))
    return typeof text === 'string' ? [text] : []
  } catch {
    return []
  }
}

const bracesIn = ({ texts: [text = ''] }: Said) => (text.match(/[{}]/g) ?? []).join('')

test('both languages have the same keys, argument counts and links within sentences', async () => {
  expect(groups.length).toBeGreaterThan(3)
  for (const group of groups) {
    const [ru, en] = await Promise.all([read(group, 'ru'), read(group, 'en')])
    const shapeOf = (said: readonly Said[]) =>
      Object.fromEntries(said.map((one) => [one.path, `${one.kind} ${bracesIn(one)}`]))
    expect(shapeOf(en)).toEqual(shapeOf(ru))
    expect([...ru, ...en].filter(({ texts }) => texts.some((text) => text.trim() === ''))).toEqual([])
  }
})

test('Russian texts contain no Latin words except names, and English ones no Cyrillic letters', async () => {
  const strange: string[] = []
  for (const group of groups) {
    const [ru, en] = await Promise.all([read(group, 'ru'), read(group, 'en')])
    for (const { path, texts } of ru)
      for (const text of texts) {
        const words = (
          quoted.reduce((rest, one) => rest.replace(one, ''), text).match(/[A-Za-z]{2,}/g) ?? []
        ).filter((word) => !latin.has(word))
        if (words.length > 0) strange.push(`${path}: ${words.join(', ')} in «${text}»`)
      }
    for (const { path, texts } of en)
      for (const text of texts) if (/[а-яё]/i.test(text)) strange.push(`${path}: ${text}`)
  }
  expect([...new Set(strange)]).toEqual([])
})

/** Called with names, sums, shortened nouns or sizes that are never small: no word agrees with a count. */
const uncounted = new Set([
  'billing.credited',
  'billing.creditedWithBonus',
  'entry.resetSent',
  'keys.ofBudget.budget_exceeded',
  'keys.ofBudget.budget_reserved',
  'keys.requestsShort',
  'models.contextFrom',
])

test('a count agrees with its noun: 1 and 21 alike, 2 and 5 different, never "1 ключей"', async () => {
  const counted: string[] = []
  for (const group of groups)
    for (const { path, counts } of await read(group, 'ru'))
      for (const texts of counts.filter(({ length }) => length > 0)) {
        const [one = '', two, five, twentyOne] = texts.map((text) => text.replace(/\d+/g, '#'))
        const isCounted = one !== five
        if (isCounted) counted.push(path)
        expect(twentyOne, path).toBe(one)
        const isGenitive = /(?:из|от|до)\s#/.test(one) // из 1 шага, из 2 шагов
        if (isCounted) expect(new Set([one, two, five]).size, path).toBe(isGenitive ? 2 : 3)
        else if (!uncounted.has(path)) expect(texts.join('; '), path).not.toMatch(/(?<!\d)1\s[а-яё]{4}/)
      }
  expect(new Set(counted).size).toBeGreaterThan(5)
})
