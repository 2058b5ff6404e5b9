import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'

type Said = {
  readonly path: string
  readonly kind: string
  readonly texts: readonly string[]
  /** Of a function: what it says of 1, 2, 5 and 21, for each of its arguments that may be a count. */
  readonly counts: readonly (readonly string[])[]
}

/** Latin words of Russian texts: names, and what nobody says otherwise. */
const latin = new Set(
  `Model Gateway API SDK ID URL CSV IP JSON QR TOTP curl Python Node js JavaScript TypeScript OpenAI kubectl Kubernetes
   ApiKey English NAMESPACE Secure Money Enter Shift`.split(/\s+/),
)

/** Spelt as they are elsewhere. */
const quoted = ['name@example.ru', 'base_url', 'x-gateway-request-id']

const groups = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.ru.ts'))
  .map((name) => name.replace('.ru.ts', ''))

async function read(group: string, language: 'ru' | 'en'): Promise<readonly Said[]> {
  const module = (await import(`./${group}.${language}.ts`)) as Readonly<Record<string, unknown>>
  return flatten(module[language], group)
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

/** What stands for any other argument: plural forms know it as a number, and names are texts. */
const name = '7'

/** None where the function takes something else. */
function textOf(write: Write, givenAt: (place: number) => number | string): readonly string[] {
  try {
    const text = write(...(Array.from({ length: write.length }, (_, place) => givenAt(place)) as never[]))
    return typeof text === 'string' ? [text] : []
  } catch {
    return []
  }
}

const bracesIn = ({ texts: [text = ''] }: Said) => (text.match(/[{}]/g) ?? []).join('')

test('both languages say the same things: keys, what texts are made of, and links within sentences', async () => {
  expect(groups.length).toBeGreaterThan(3)
  for (const group of groups) {
    const [ru, en] = await Promise.all([read(group, 'ru'), read(group, 'en')])
    const shapeOf = (said: readonly Said[]) =>
      Object.fromEntries(said.map((one) => [one.path, `${one.kind} ${bracesIn(one)}`]))
    expect(shapeOf(en)).toEqual(shapeOf(ru))
    expect([...ru, ...en].filter(({ texts }) => texts.some((text) => text.trim() === ''))).toEqual([])
  }
})

test('Russian texts hold no Latin word but names, English ones no Cyrillic letter', async () => {
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

/** Told with names, sums, sizes that are never a few, or shortened: nothing there agrees with a count. */
const uncounted = new Set([
  ...['billing.credited', 'billing.creditedWithBonus', 'entry.resetSent', 'keys.requestsShort'],
  'models.contextFrom',
])

test('a count has its noun: after 1 and 21 the same, after 2 and 5 others, in no text "1 ключей"', async () => {
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
