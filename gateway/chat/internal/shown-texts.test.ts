import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { searchFor } from '../../upstream/secret-search.ts'
import { createShownTexts } from './shown-texts.ts'

const key = 'hunter2-canary-88'

/** A choice whose provider has these secrets, and what its client reads of each field. */
function start(...secrets: readonly string[]) {
  const search = searchFor(secrets) ?? expect.fail('nothing to search for')
  const shown = createShownTexts<string>(search)
  const written: string[] = []
  const write = (field: string) => (text: string) => `${field}:${text}`
  return {
    search,
    shown,
    written,
    say(field: string, piece: string) {
      const text = shown.grow(field, piece, write(field), written)
      if (text !== '') written.push(write(field)(text))
    },
    readOf: (field: string) =>
      written
        .flatMap((piece) => (piece.startsWith(`${field}:`) ? piece.slice(field.length + 1) : []))
        .join(''),
  }
}

/** Few characters, so that texts are full of secrets and of their beginnings. */
const letters = fc.constantFrom('a', 'b')
const secretText = fc.string({ unit: letters, minLength: 8, maxLength: 10 })
const pieceText = fc.string({ unit: letters, maxLength: 12 })

describe('however a text with secrets is cut into pieces', () => {
  test('it is shown with each of them hidden', () => {
    fc.assert(
      fc.property(
        fc.array(secretText, { minLength: 1, maxLength: 2 }),
        fc.array(fc.oneof(pieceText, secretText)),
        fc.infiniteStream(fc.nat({ max: 11 })),
        (secrets, parts, lengths) => {
          const { search, shown, say, readOf, written } = start(...secrets)
          const text = [...parts, secrets[0], ...parts].join('')
          for (let at = 0; at < text.length; ) {
            const [length = 1] = lengths.take(1)
            say('content', text.slice(at, at + length))
            at += length
          }
          shown.release(written)
          expect(readOf('content')).toBe(search.hide(text))
          for (const secret of secrets) expect(readOf('content')).not.toContain(secret)
        },
      ),
    )
  })

  test('none is shown whole, even if other fields arrive in between and are shown at once', () => {
    fc.assert(
      fc.property(
        secretText,
        fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.boolean(), pieceText), { maxLength: 40 }),
        (secret, pieces) => {
          const { shown, say, readOf, written } = start(secret)
          for (const [field, isWhole, piece] of pieces) {
            if (!isWhole) say(field, piece)
            else {
              shown.release(written)
              written.push(`${field}:${shown.showNow(field, piece)}`)
            }
          }
          shown.release(written)
          for (const field of ['a', 'b']) {
            expect(readOf(field)).not.toContain(secret)
            const said = pieces.flatMap(([of, , piece]) => (of === field ? piece : [])).join('')
            if (!said.includes(secret)) expect(readOf(field)).toBe(said)
          }
        },
      ),
    )
  })
})

test('a text that neither has a secret nor ends like the beginning of one is shown piece for piece', () => {
  const { say, written } = start(key)
  const pieces = ['He', 'llo', ', he', 'a', 'r me ', 'out']
  for (const piece of pieces) say('content', piece)
  expect(written).toEqual(pieces.map((piece) => `content:${piece}`))
})

test('of a beginning only as much is held back as may go on, until it does not', () => {
  const { say, written, shown } = start(key)
  say('content', 'so hunt')
  expect([written, shown.isHolding()]).toEqual([['content:so '], true])
  say('content', 'hunter2')
  say('content', '!')
  expect([written, shown.isHolding()]).toEqual([['content:so ', 'content:hunt', 'content:hunter2!'], false])
})

test('held text is written before any other text, and the rest of a secret is still hidden', () => {
  const { say, written } = start(key)
  say('reasoning', 'it is hunter2')
  say('content', 'Well')
  say('reasoning', '-canary-88.')
  expect(written).toEqual(['reasoning:it is ', 'reasoning:hunter2', 'content:Well', 'reasoning:[hidden].'])
})

test('parts that are shown at once are searched by their places', () => {
  const { shown } = start(key)
  const part = (index: number, text: string) => [{ index, type: 'x', text, [key]: 1 }]
  expect(shown.showNow('details', part(0, 'my hunter2'))).toEqual([
    { index: 0, type: 'x', text: 'my hunter2', '[hidden]': 1 },
  ])
  expect(shown.showNow('details', part(1, '-canary-88'))).toMatchObject([{ text: '-canary-88' }])
  expect(shown.showNow('details', part(0, '-canary-88!'))).toMatchObject([{ text: '[hidden]!' }])
})

describe('log probabilities', () => {
  const tokens = (...said: string[]) =>
    said.map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] }))

  test('wait with the text that they spell', () => {
    const { shown } = start(key)
    expect(shown.showLogprobs({ content: tokens('so ', 'hun', 'ter'), refusal: null })).toEqual({
      content: tokens('so '),
      refusal: null,
    })
    expect(shown.isHolding()).toBe(true)
    expect(shown.showLogprobs({ content: tokens('s'), refusal: null })).toEqual({
      content: tokens('hun', 'ter', 's'),
      refusal: null,
    })
    expect(shown.isHolding()).toBe(false)
    shown.showLogprobs({ content: null, refusal: tokens('h') })
    expect(shown.releaseLogprobs()).toEqual({ content: null, refusal: tokens('h') })
    expect(shown.isHolding()).toBe(false)
  })

  test('of a secret are never shown, not even among the alternatives to a token', () => {
    const { shown } = start(key)
    shown.showLogprobs({ content: tokens('hunter2', '-can'), refusal: null })
    expect(shown.showLogprobs({ content: tokens('ary-88', '.'), refusal: null })).toBeNull()
    expect(shown.isHolding()).toBe(false)
    const unlikely = { token: 'a', top_logprobs: [{ token: key }] }
    expect(shown.showLogprobs({ content: [unlikely], refusal: null })).toEqual({
      content: [{ token: 'a', top_logprobs: [{ token: '[hidden]' }] }],
      refusal: null,
    })
  })
})
