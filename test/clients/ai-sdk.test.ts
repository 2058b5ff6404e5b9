import { describe, expect, test } from 'vitest'
import type { SpokenTurn } from '../support/spoken-turns.ts'
import { everyBackendKind } from '../support/spoken-turns.ts'
import { clientsOfThisFile, runProgram } from './clients.ts'

const { serve } = await clientsOfThisFile()

const place = { place: 'Kazan', people: 1_300_000 }
const ask = (city: string, id: string) => ({ calls: [{ id, name: 'getWeather', arguments: { city } }] })
const turns: readonly SpokenTurn[] = [
  { text: 'I look.', ...ask('Kazan', 'call_1') },
  ask('Ufa', 'call_2'),
  ask('Omsk', 'call_3'),
  { text: 'Omsk is the warmest.' },
  { text: JSON.stringify(place) },
]

const versions = ['6', '7'] as const
const ways = ['whole', 'streamed'] as const
const cases = everyBackendKind.flatMap((kind) =>
  versions.flatMap((version) => ways.map((way) => [version, way, kind] as const)),
)

const stores = [
  ['with store: false', 'false', {}],
  ['by its default, with a key that keeps responses', 'default', { keepsResponsesHours: 1 }],
] as const

describe.each(cases)('AI SDK %s, %s, with a backend of %s', (version, way, kind) => {
  test.each(stores)('runs three steps of a tool and reads an object, %s', async (_, store, customer) => {
    const served = await serve(kind, turns, { customer })
    const result = await runProgram('ai-sdk.mjs', served, { VERSION: version, WAY: way, STORE: store })
    expect(result).toMatchObject({
      text: 'Omsk is the warmest.',
      cities: ['Kazan', 'Ufa', 'Omsk'],
      stepCount: 4,
      usage: { inputTokens: 40, outputTokens: 20 },
      place,
    })
    expect(result.streamed).toContain('Omsk is the warmest.')
    expect(served.sent()).toHaveLength(5)
    const last = JSON.stringify(served.sent()[3])
    for (const text of ['Kazan', 'Ufa', 'Omsk', 'degrees']) expect(last).toContain(text)
    expect(served.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })
})
