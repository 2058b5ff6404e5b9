import { describe, expect, test } from 'vitest'
import { readUsage } from '#gateway/exchange/usage'
import { type AdapterCase, features, type Mode, modes } from './adapter-cases.ts'
import { type NativeProvider, nativeProviders, playChat, readWholeAnswer, writeCase } from './adapter-play.ts'
import { answerSchemaOf } from './answer-schema.ts'
import { assemble, chunksOf } from './read-choices.ts'
import { findSplit } from './stream-play.ts'

const chunkSchema = answerSchemaOf('CreateChatCompletionStreamResponse')

describe.each(nativeProviders)('$kind', (provider) => {
  const { cases, none } = provider

  test.each(features.flatMap((feature) => modes.map((mode) => [feature, mode] as const)))(
    'has a case of %s (%s), or a reason for none',
    (feature, mode) => {
      const found = cases.filter((given) => given.feature === feature && hasMode(given, mode))
      expect(found.length > 0).toBe(none[feature]?.[mode] === undefined)
    },
  )

  test('has cases of no other features', () => {
    const named: readonly string[] = [...cases.map(({ feature }) => feature), ...Object.keys(none)]
    expect(named.filter((name) => !features.some((feature) => feature === name))).toEqual([])
  })

  test.each(casesOf(provider, 'plain'))('%s (plain)', async (_title, given) => {
    const reading = await sentAndTaken(provider, given, 'plain')
    const read = readWholeAnswer(reading, given.answer ?? {})
    expect(read.choices).toEqual(given.client)
    expectTokens(read.usage, given)
  })

  test.each(casesOf(provider, 'stream'))(
    '%s (stream), wherever its bytes are split',
    async (_title, given) => {
      const reading = await sentAndTaken(provider, given, 'stream')
      const play = (pieces: readonly Buffer[]) => playChat(reading, Number(given.request.n ?? 1), pieces)
      const events = (given.events ?? []).map((event) => Buffer.from(provider.frameOf(event)))
      const bytes = Buffer.concat(events)
      const whole = play([bytes])
      expect(whole.last.kind).toBe('ended')
      const chunks = chunksOf(whole.text)
      for (const chunk of chunks) expect(chunkSchema.safeParse(chunk).error).toBeUndefined()
      // A stream begins with an empty text where a whole message has none.
      const read = assemble(chunks).map((choice) => ({ ...choice, content: choice.content || null }))
      expect(read).toEqual(given.client)
      expectTokens(whole.usage, given)
      expect(play(events)).toEqual(whole)
      expect(findSplit(bytes, (pieces) => play(pieces).text)).toBeUndefined()
    },
  )
})

function casesOf({ cases }: NativeProvider, mode: Mode): readonly (readonly [string, AdapterCase])[] {
  const titled = ({ feature, name }: AdapterCase) => (name === undefined ? feature : `${feature}: ${name}`)
  return cases.filter((given) => hasMode(given, mode)).map((given) => [titled(given), given])
}

function hasMode({ answer, events }: AdapterCase, mode: Mode): boolean {
  return (mode === 'plain' ? answer : events) !== undefined
}

/** The provider is sent what the case has, and takes it. */
async function sentAndTaken(provider: NativeProvider, given: AdapterCase, mode: Mode) {
  const { body, dropped, fault, reading } = await writeCase(provider, given, mode)
  expect(body).toEqual({ ...provider.everywhere(given.model, mode), ...given.sent })
  expect(dropped).toEqual(given.dropped)
  expect(fault).toBeUndefined()
  return reading
}

function expectTokens(usage: unknown, { tokens }: AdapterCase): void {
  expect(readUsage(usage)).toMatchObject({ kind: 'reported', tokens })
}
