import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'

type Said = { readonly path: string; readonly kind: string; readonly texts: readonly string[] }

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
  if (typeof value === 'string') return [{ path, kind: 'text', texts: [value] }]
  if (typeof value === 'function')
    return [
      {
        path,
        kind: `of ${value.length}`,
        texts: [1, 2, 5, 21, '7'].flatMap((given) => textOf(value as (...given: never[]) => unknown, given)),
      },
    ]
  return Object.entries(value as object).flatMap(([key, part]) => flatten(part, `${path}.${key}`))
}

/** Of a count where the function takes one, else of a name, which `7` stands for. */
function textOf(write: (...given: never[]) => unknown, given: number | string): readonly string[] {
  try {
    const text = write(...(Array.from({ length: write.length }, () => given) as never[]))
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

test('a count has its noun: after 1 and 21 the same, after 2 and 5 others, in no text "1 ключей"', async () => {
  for (const group of groups)
    for (const { path, kind, texts } of await read(group, 'ru')) {
      if (kind !== 'of 1') continue
      const [one, two, five, twentyOne] = texts.map((text) => text.replace(/\d+/g, '#'))
      const isCounted = one !== five
      expect(twentyOne, path).toBe(one)
      if (isCounted) expect(new Set([one, two, five]).size, path).toBe(3)
    }
})
