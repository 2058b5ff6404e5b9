import { expect, test } from 'vitest'
import { everyBackendKind } from '../support/spoken-turns.ts'
import { clientsOfThisFile, runProgram } from './clients.ts'

const { serve } = await clientsOfThisFile()

const place = { place: 'Kazan', people: 1_300_000 }

test.each(everyBackendKind)(
  "Anthropic's SDK for Python parses objects, reads streams, runs tools, counts and lists, with a backend of %s",
  async (kind) => {
    const served = await serve(kind, [
      { text: JSON.stringify(place) },
      { text: 'Hello' },
      { thought: 'I look.', calls: [{ id: 'toolu_1', name: 'get_weather', arguments: { city: 'Kazan' } }] },
      { text: 'It is sunny.' },
    ])
    const { key, baseUrl } = served
    const env = { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, '') }
    expect(await runProgram('anthropic_python.py', served, env)).toEqual({
      parsed: place,
      streamed: 'Hello',
      stopReason: 'end_turn',
      costRub: expect.stringMatching(/^0\.\d+$/),
      text: 'It is sunny.',
      count: expect.toSatisfy((count) => count > 0 && count < 100),
      isListed: true,
      errors: ['404 NotFoundError', '400 BadRequestError'],
    })
    expect(JSON.stringify(served.sent()[3])).toContain('Kazan is sunny')
  },
)
