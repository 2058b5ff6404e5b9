import { expect, onTestFinished, test } from 'vitest'
import { createTokenDecoder } from '#gateway/tokens/token-decoder'

function decoder() {
  const errors: unknown[] = []
  const made = createTokenDecoder((error) => errors.push(error))
  onTestFinished(() => made.stop())
  return { ...made, errors }
}

test('lists of tokens become their texts, each caller’s its own, however many ask at once', async () => {
  const { decode } = decoder()
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => decode([[9906, 1917], [n]])))
  expect(answers.map((answer) => answer && 'texts' in answer && answer.texts[0])).toEqual(
    Array(50).fill('Hello world'),
  )
  expect(new Set(answers.map((answer) => answer && 'texts' in answer && answer.texts[1])).size).toBe(50)
})

test('the first list that holds what is no token is named', async () => {
  const { decode } = decoder()
  expect(await decode([[0], [100_256], [-1]])).toEqual({ wrongAt: 1 })
  expect(await decode([[0]])).toEqual({ texts: ['!'] }) // and the thread goes on
})

test('half a million tokens are decoded while the event loop turns on, and more than five million not at all', async () => {
  const { decode, errors } = decoder()
  await decode([[0]])
  const asked = decode([Array.from({ length: 500_000 }, (_, n) => n % 100_000)])
  let turnCount = 0
  const pulse = setInterval(() => (turnCount += 1), 1)
  expect(await asked).toHaveProperty('texts')
  clearInterval(pulse)
  expect(turnCount).toBeGreaterThan(5)
  expect(await decode([Array(5_000_001).fill(0)])).toBeUndefined()
  expect(errors).toEqual([])
})

test('one that was stopped answers nothing any more', async () => {
  const { decode, stop } = decoder()
  const waiting = decode([Array(100_000).fill(9906)])
  await stop()
  expect(await waiting).toBeUndefined()
  expect(await decode([[0]])).toBeUndefined()
})
