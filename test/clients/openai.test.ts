import { describe, expect, test } from 'vitest'
import type { SpokenTurn } from '../support/spoken-turns.ts'
import { everyBackendKind } from '../support/spoken-turns.ts'
import { clientsOfThisFile, runProgram } from './clients.ts'

const { serve } = await clientsOfThisFile()

const place = { place: 'Kazan', people: 1_300_000 }
const turns: readonly SpokenTurn[] = [
  { text: JSON.stringify(place) },
  { text: JSON.stringify(place) },
  { calls: [{ id: 'call_1', name: 'get_weather', arguments: { city: 'Kazan' } }] },
  { text: 'It is sunny.' },
]

const programs = [
  ['Node', 'openai-node.mjs'],
  ['Python', 'openai_python.py'],
] as const

describe.each(programs)("OpenAI's SDK for %s", (_, program) => {
  test.each(everyBackendKind)(
    'parses objects, reads streams and runs a function, with a backend of %s',
    async (kind) => {
      const served = await serve(kind, turns)
      expect(await runProgram(program, served)).toMatchObject({
        parsed: place,
        streamed: JSON.stringify(place),
        streamParsed: place,
        called: { city: 'Kazan' },
        text: 'It is sunny.',
        usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15, cost_rub: expect.any(String) },
      })
      expect(JSON.stringify(served.sent()[3])).toContain('degrees')
      expect(served.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    },
  )
})
